"""diffusers: the unconditional training loop of the docs; pictures are sampled every 25 steps."""

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, scheduler):
    pipeline = DDPMPipeline(unet=model, scheduler=scheduler)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline(batch_size=4, num_inference_steps=20, generator=torch.Generator().manual_seed(0)).images


def main():
    torch.set_num_threads(1)
    model = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(TensorDataset(torch.randn(800, 3, 16, 16)), batch_size=8, shuffle=True)
    schedule = get_cosine_schedule_with_warmup(optimizer, 50, len(loader))
    for global_step, (clean,) in enumerate(loader, 1):
        noise = torch.randn(clean.shape)
        timesteps = torch.randint(0, noise_scheduler.config.num_train_timesteps, (clean.shape[0],), dtype=torch.int64)
        noisy = noise_scheduler.add_noise(clean, noise, timesteps)
        noise_pred = model(noisy, timesteps, return_dict=False)[0]
        loss = torch.nn.functional.mse_loss(noise_pred, noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if global_step % 25 == 0:
            evaluate(model, noise_scheduler)
            model.train()


if __name__ == "__main__":
    main()
