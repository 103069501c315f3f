'use strict';
// How the events of one step are drawn: claims, lanes, axis and map. `view` holds what is looked at, which `viewer.js` changes.
function advisorLanes(view, data, claims, canvas, map) {
  var AXIS = 18, CLAIM = 13, FONT = '11px system-ui, sans-serif';
  var colours = {}, pending = false;

  function duration(ns) {
    var units = [[1e9, ' s'], [1e6, ' ms'], [1e3, ' us']];
    for (var place = 0; place < units.length; place += 1) {
      if (ns >= units[place][0]) { return Number((ns / units[place][0]).toPrecision(3)) + units[place][1]; }
    }
    return Math.round(ns) + ' ns';
  }

  // Digits beyond those that tell the two edges of what is shown apart say nothing, nor beyond those of the stride of an axis.
  function moment(ns, stride) {
    var unit = [[1e9, ' s'], [1e6, ' ms']].find(function (one) { return view.to - view.from >= 2 * one[0]; }) || [1e3, ' us'];
    var digits = stride ? Math.ceil(-Math.log10(stride / unit[0]) - 1e-9) : 3 - Math.floor(Math.log10((view.to - view.from) / unit[0]));
    digits = Math.max(0, Math.min(3, digits));
    return (ns / unit[0]).toFixed(digits) + unit[1];
  }

  function layOut() {
    var y = AXIS;
    view.rows = claims.map(function (claim) {
      var row = { y: y, height: CLAIM, claim: claim, name: claim.rule };
      y += CLAIM + 2;
      return row;
    });
    y += claims.length ? 4 : 0;
    data.tracks.forEach(function (track) {
      var height = track.level ? 15 : 20;
      y += track.level ? 0 : 4;
      view.rows.push({ y: y, height: height, track: track, name: track.level ? '' : track.name });
      y += height + 1;
    });
    return y + 6;
  }
  var height = layOut();

  function colour(name) {
    if (!colours[name]) { colours[name] = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }
    return colours[name];
  }

  function measure() {
    view.width = canvas.clientWidth;
    view.left = view.width > 560 ? 104 : 0;
  }

  function scaled(element, tall) {
    var ratio = window.devicePixelRatio || 1;
    element.width = Math.round(element.clientWidth * ratio);
    element.height = Math.round(tall * ratio);
    element.style.height = tall + 'px';
    var context = element.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = 'middle';
    return context;
  }

  function at(ns) { return view.left + (ns - view.from) / (view.to - view.from) * (view.width - view.left); }

  // The first event of a lane that ends after a moment: lanes are disjoint and in order.
  function firstAfter(track, ns) {
    var low = 0, high = track.start.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (track.start[middle] + track.dur[middle] <= ns) { low = middle + 1; } else { high = middle; }
    }
    return low;
  }

  function cut(context, text, room) {
    if (context.measureText(text).width <= room) { return text; }
    var letters = Math.floor(room / 6) - 1;
    return letters > 2 ? text.slice(0, letters) + '…' : '';
  }

  function drawTrack(context, row) {
    var track = row.track, dust = {};
    for (var place = firstAfter(track, view.from); place < track.start.length && track.start[place] < view.to; place += 1) {
      var begin = Math.max(at(track.start[place]), view.left), end = Math.min(at(track.start[place] + track.dur[place]), view.width);
      var faded = view.matching && !view.matching[track.label[place]];
      var name = 'cause-' + data.causes[track.cause[place]].replace(/_/g, '-');
      if (end - begin < 1.5) {
        // Events narrower than a pixel share it: it is as strong as it is busy, so that gaps between them are not hidden.
        var pixel = Math.floor(begin), key = (faded ? 'f' : '') + pixel;
        var cell = dust[key] || (dust[key] = { x: pixel, busy: 0, name: name, faded: faded });
        cell.busy += end - begin;
        continue;
      }
      context.globalAlpha = faded ? 0.2 : 1;
      context.fillStyle = colour(name);
      context.fillRect(begin, row.y, end - begin - 0.5, row.height);
      if (view.chosen && view.chosen.track === track && view.chosen.place === place) {
        context.strokeStyle = colour('text');
        context.lineWidth = 2;
        context.strokeRect(begin + 1, row.y + 1, end - begin - 2.5, row.height - 2);
      }
      if (end - begin > 34 && !faded) {
        context.fillStyle = colour('ink');
        context.fillText(cut(context, data.labels[track.label[place]], end - begin - 8), begin + 4, row.y + row.height / 2 + 0.5);
      }
    }
    Object.keys(dust).forEach(function (key) {
      var cell = dust[key];
      context.globalAlpha = cell.faded ? 0.15 : Math.min(1, 0.25 + 0.75 * cell.busy);
      context.fillStyle = colour(cell.name);
      context.fillRect(cell.x, row.y, 1, row.height);
    });
    context.globalAlpha = 1;
  }

  function drawClaim(context, row) {
    context.fillStyle = colour('high');
    var wide = {};
    row.claim.spans.forEach(function (span) {
      if (span[1] <= view.from || span[0] >= view.to) { return; }
      var begin = Math.max(at(span[0]), view.left), end = Math.min(at(span[1]), view.width);
      if (end - begin >= 1.5) { context.fillRect(begin, row.y + 2, end - begin, row.height - 4); return; }
      var pixel = Math.floor(begin);
      wide[pixel] = (wide[pixel] || 0) + end - begin;
    });
    Object.keys(wide).forEach(function (pixel) {
      context.globalAlpha = Math.min(1, 0.3 + 0.7 * wide[pixel]);
      context.fillRect(Number(pixel), row.y + 2, 1, row.height - 4);
    });
    context.globalAlpha = 1;
  }

  function drawAxis(context) {
    var rough = (view.to - view.from) / Math.max(2, (view.width - view.left) / 110), unit = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 5, 10].map(function (times) { return unit * times; }).find(function (one) { return one >= rough; });
    context.textAlign = 'center';
    for (var mark = Math.ceil(view.from / step) * step; mark <= view.to; mark += step) {
      var x = at(mark);
      context.fillStyle = colour('line');
      context.fillRect(x, AXIS - 3, 1, height);
      context.fillStyle = colour('quiet');
      var text = moment(mark, step), half = context.measureText(text).width / 2;
      if (x - half >= view.left - 2 && x + half <= view.width) { context.fillText(text, x, 8); }
    }
    context.textAlign = 'left';
  }

  function drawMap() {
    var context = scaled(map, 34), over = map.clientWidth;
    var drawn = data.tracks.filter(function (track) { return !track.level; });
    var tall = 30 / Math.max(drawn.length, 1);
    drawn.forEach(function (track, number) {
      var busy = new Float32Array(over), causes = {};
      for (var place = 0; place < track.start.length; place += 1) {
        var begin = track.start[place] / view.whole * over, end = (track.start[place] + track.dur[place]) / view.whole * over;
        for (var pixel = Math.floor(begin); pixel < end && pixel < over; pixel += 1) {
          busy[pixel] += Math.min(end, pixel + 1) - Math.max(begin, pixel);
          causes[pixel] = data.causes[track.cause[place]];
        }
      }
      busy.forEach(function (share, pixel) {
        if (!share) { return; }
        context.globalAlpha = Math.min(1, 0.2 + 0.8 * share);
        context.fillStyle = colour('cause-' + causes[pixel].replace(/_/g, '-'));
        context.fillRect(pixel, 2 + number * tall, 1, Math.max(tall - 1, 1));
      });
    });
    context.globalAlpha = 0.6;
    context.fillStyle = colour('back');
    context.fillRect(0, 0, view.from / view.whole * over, 34);
    context.fillRect(view.to / view.whole * over, 0, over, 34);
    context.globalAlpha = 1;
    context.strokeStyle = colour('text');
    context.strokeRect(view.from / view.whole * over + 0.5, 0.5, Math.max((view.to - view.from) / view.whole * over - 1, 2), 33);
  }

  function draw() {
    pending = false;
    measure();
    if (!view.width) { return; }
    var context = scaled(canvas, height);
    drawAxis(context);
    view.rows.forEach(function (row) { if (row.track) { drawTrack(context, row); } else { drawClaim(context, row); } });
    view.rows.forEach(function (row) {
      if (!row.name) { return; }
      context.fillStyle = row.claim ? colour('high') : colour('quiet');
      if (view.left) { context.fillText(cut(context, row.name, view.left - 8), 2, row.y + row.height / 2 + 0.5); return; }
      context.globalAlpha = 0.8;
      context.fillStyle = colour('back');
      context.fillRect(0, row.y, context.measureText(row.name).width + 6, Math.min(row.height, 14));
      context.globalAlpha = 1;
      context.fillStyle = row.claim ? colour('high') : colour('text');
      context.fillText(row.name, 3, row.y + Math.min(row.height, 14) / 2 + 0.5);
    });
    drawMap();
  }

  function redraw() { if (!pending) { pending = true; requestAnimationFrame(draw); } }

  return {
    duration: duration, moment: moment, measure: measure, firstAfter: firstAfter, redraw: redraw,
    otherColours: function () { colours = {}; redraw(); }
  };
}
