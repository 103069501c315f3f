'use strict';
// The flame graph is whole without this: it only makes a module as wide as the page, and back.
(function () {
  var flame = document.getElementById('flame');
  if (!flame) { return; }
  var drawing = flame.querySelector('svg'), whole = drawing.viewBox.baseVal.width;
  // Its boxes are buttons now, which a picture may not hold.
  drawing.setAttribute('role', 'group');
  var boxes = Array.from(flame.querySelectorAll('.box'));
  var back = document.getElementById('flame-back');
  var zoom = function (from, width) {
    boxes.forEach(function (box) {
      var scale = whole / width;
      var left = (Number(box.dataset.x) - from) * scale;
      var right = left + Number(box.dataset.w) * scale;
      var seen = right > 0.5 && left < whole - 0.5;
      box.style.display = seen ? '' : 'none';
      if (!seen) { return; }
      left = Math.max(left, 0);
      var wide = Math.max(Math.min(right, whole) - left - 0.6, 0.5);
      var parts = box.querySelectorAll('rect');
      parts[0].setAttribute('x', left);
      parts[0].setAttribute('width', wide);
      parts[1].setAttribute('x', left);
      parts[1].setAttribute('width', wide * Number(box.dataset.late));
      var name = box.querySelector('text');
      var room = Math.floor((wide - 10) / 7.1);
      var full = box.dataset.name;
      name.setAttribute('x', left + 5);
      name.textContent = room < 3 ? '' : full.length <= room ? full : full.slice(0, room - 1) + '\u2026';
    });
    back.hidden = width >= whole - 0.5;
  };
  boxes.forEach(function (box) {
    var name = box.dataset.name;
    box.setAttribute('tabindex', '0');
    box.setAttribute('role', 'button');
    box.setAttribute('aria-label', 'Zoom to ' + name);
    var open = function () { zoom(Number(box.dataset.x), Number(box.dataset.w)); };
    box.addEventListener('click', open);
    box.addEventListener('keydown', function (event) {
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); open(); }
    });
  });
  back.addEventListener('click', function () { zoom(0, whole); });
  flame.addEventListener('keydown', function (event) { if (event.key === 'Escape') { zoom(0, whole); } });
})();
