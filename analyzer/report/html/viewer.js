'use strict';
// The events of one step as lanes to zoom into. Names come from a trace anybody may have written: they are drawn and set as text only.
(function () {
  var box = document.getElementById('viewer');
  if (!box) { return; }
  var data = JSON.parse(document.getElementById('advisor-lanes').textContent);
  var claims = JSON.parse(document.getElementById('advisor-claims').textContent);
  var canvas = document.getElementById('viewer-lanes'), map = document.getElementById('viewer-map');
  var told = document.getElementById('viewer-told'), search = document.getElementById('viewer-search');
  var whole = Math.max(data.dur_ns, 1), from = 0, to = whole, width = 0, left = 0;
  var words = [], matching = null, chosen = null, colours = {}, rows = [], pending = false;
  var AXIS = 18, CLAIM = 13, FONT = '11px system-ui, sans-serif';

  function duration(ns) {
    var units = [[1e9, ' s'], [1e6, ' ms'], [1e3, ' us']];
    for (var place = 0; place < units.length; place += 1) {
      if (ns >= units[place][0]) { return Number((ns / units[place][0]).toPrecision(3)) + units[place][1]; }
    }
    return Math.round(ns) + ' ns';
  }

  // Digits beyond those that tell the two edges of what is shown apart say nothing.
  function moment(ns) {
    var unit = to - from >= 2e6 ? [1e6, ' ms'] : [1e3, ' us'];
    var digits = Math.max(0, Math.min(3, 3 - Math.floor(Math.log10((to - from) / unit[0]))));
    return (ns / unit[0]).toFixed(digits) + unit[1];
  }

  function layOut() {
    var y = AXIS;
    rows = claims.map(function (claim) {
      var row = { y: y, height: CLAIM, claim: claim, name: claim.rule };
      y += CLAIM + 2;
      return row;
    });
    y += claims.length ? 4 : 0;
    data.tracks.forEach(function (track) {
      var height = track.level ? 15 : 20;
      y += track.level ? 0 : 4;
      rows.push({ y: y, height: height, track: track, name: track.level ? '' : track.name });
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
    width = canvas.clientWidth;
    left = width > 560 ? 104 : 0;
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

  function at(ns) { return left + (ns - from) / (to - from) * (width - left); }
  function timeAt(x) { return from + (x - left) / (width - left) * (to - from); }

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
    for (var place = firstAfter(track, from); place < track.start.length && track.start[place] < to; place += 1) {
      var begin = Math.max(at(track.start[place]), left), end = Math.min(at(track.start[place] + track.dur[place]), width);
      var faded = matching && !matching[track.label[place]];
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
      if (chosen && chosen.track === track && chosen.place === place) {
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
      if (span[1] <= from || span[0] >= to) { return; }
      var begin = Math.max(at(span[0]), left), end = Math.min(at(span[1]), width);
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
    var rough = (to - from) / Math.max(2, (width - left) / 110), unit = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 5, 10].map(function (times) { return unit * times; }).find(function (one) { return one >= rough; });
    context.textAlign = 'center';
    for (var mark = Math.ceil(from / step) * step; mark <= to; mark += step) {
      var x = at(mark);
      context.fillStyle = colour('line');
      context.fillRect(x, AXIS - 3, 1, height);
      context.fillStyle = colour('quiet');
      var text = moment(mark), half = context.measureText(text).width / 2;
      if (x - half >= left - 2 && x + half <= width) { context.fillText(text, x, 8); }
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
        var begin = track.start[place] / whole * over, end = (track.start[place] + track.dur[place]) / whole * over;
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
    context.fillRect(0, 0, from / whole * over, 34);
    context.fillRect(to / whole * over, 0, over, 34);
    context.globalAlpha = 1;
    context.strokeStyle = colour('text');
    context.strokeRect(from / whole * over + 0.5, 0.5, Math.max((to - from) / whole * over - 1, 2), 33);
  }

  function draw() {
    pending = false;
    measure();
    if (!width) { return; }
    var context = scaled(canvas, height);
    drawAxis(context);
    rows.forEach(function (row) { if (row.track) { drawTrack(context, row); } else { drawClaim(context, row); } });
    rows.forEach(function (row) {
      if (!row.name) { return; }
      context.fillStyle = row.claim ? colour('high') : colour('quiet');
      if (left) { context.fillText(cut(context, row.name, left - 8), 2, row.y + row.height / 2 + 0.5); return; }
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

  function look(begin, end) {
    var span = Math.min(Math.max(end - begin, Math.min(200, whole)), whole);
    from = Math.min(Math.max(begin, 0), whole - span);
    to = from + span;
    box.dataset.from = Math.round(from);
    box.dataset.to = Math.round(to);
    redraw();
  }

  function zoom(times, around) {
    var centre = around === undefined ? (from + to) / 2 : around;
    look(centre - (centre - from) * times, centre + (to - centre) * times);
  }

  function found(x, y) {
    var row = rows.find(function (one) { return y >= one.y && y < one.y + one.height; });
    if (!row || x < left) { return null; }
    var ns = timeAt(x), slack = (to - from) / (width - left);
    if (row.claim) {
      var inside = row.claim.spans.some(function (span) { return span[0] - slack <= ns && ns <= span[1] + slack; });
      return inside ? { claim: row.claim } : null;
    }
    var place = firstAfter(row.track, ns - slack);
    return place < row.track.start.length && row.track.start[place] <= ns + slack ? { track: row.track, place: place } : null;
  }

  function tell(one) {
    if (!one) { return; }
    if (one.claim) {
      var together = one.claim.spans.reduce(function (sum, span) { return sum + span[1] - span[0]; }, 0);
      told.textContent = one.claim.rule + ' ' + one.claim.title + ': ' + duration(together) + ' of this step in ' + one.claim.spans.length + (one.claim.spans.length === 1 ? ' piece' : ' pieces');
      return;
    }
    var start = one.track.start[one.place], end = start + one.track.dur[one.place];
    var within = claims.filter(function (claim) {
      return claim.spans.some(function (span) { return span[0] < end && span[1] > start; });
    }).map(function (claim) { return claim.rule; });
    var detail = data.details[one.track.detail[one.place]];
    told.textContent = data.labels[one.track.label[one.place]] + ': ' + duration(end - start) + ', from ' + moment(start) + ', ' +
      one.track.name + ', ' + data.causes[one.track.cause[one.place]].replace(/_/g, ' ') +
      (detail ? ', ' + detail : '') + (within.length ? '; beside the time of ' + within.join(', ') : '');
  }

  function position(event) {
    var edge = canvas.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  }

  var dragged = null;
  canvas.addEventListener('pointerdown', function (event) {
    dragged = { x: event.clientX, from: from, to: to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', function (event) {
    var spot = position(event);
    if (!dragged) { tell(found(spot[0], spot[1])); return; }
    var moved = (dragged.x - event.clientX) / (width - left) * (dragged.to - dragged.from);
    dragged.moved = dragged.moved || Math.abs(dragged.x - event.clientX) > 3;
    if (dragged.moved) { look(dragged.from + moved, dragged.to + moved); }
  });
  canvas.addEventListener('pointerup', function (event) {
    if (dragged && !dragged.moved) {
      var spot = position(event), one = found(spot[0], spot[1]);
      chosen = one && one.track ? one : null;
      tell(one);
      redraw();
    }
    dragged = null;
  });
  canvas.addEventListener('pointercancel', function () { dragged = null; });
  canvas.addEventListener('dblclick', function (event) {
    var spot = position(event), one = found(spot[0], spot[1]);
    if (one && one.track) { fill(one.track.start[one.place], one.track.dur[one.place]); }
  });
  canvas.addEventListener('wheel', function (event) {
    // The page scrolls on, unless the lanes were clicked first or Ctrl says that zooming is meant.
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) { return; }
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { var by = event.deltaX / (width - left) * (to - from); look(from + by, to + by); return; }
    zoom(Math.pow(1.0018, event.deltaY), timeAt(Math.max(position(event)[0], left)));
  }, { passive: false });
  canvas.addEventListener('keydown', function (event) {
    var by = (to - from) / 5;
    var act = {
      ArrowLeft: function () { look(from - by, to - by); }, ArrowRight: function () { look(from + by, to + by); },
      '+': function () { zoom(0.6); }, '=': function () { zoom(0.6); }, '-': function () { zoom(1 / 0.6); }, '0': function () { look(0, whole); }
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  function centre(event) {
    var edge = map.getBoundingClientRect(), ns = (event.clientX - edge.left) / edge.width * whole, half = (to - from) / 2;
    look(ns - half, ns + half);
  }
  map.addEventListener('pointerdown', function (event) { map.setPointerCapture(event.pointerId); centre(event); });
  map.addEventListener('pointermove', function (event) { if (event.buttons) { centre(event); } });

  function fill(start, length) { look(start - length * 0.1, start + length * 1.1); }

  box.querySelectorAll('button[data-do]').forEach(function (button) {
    button.addEventListener('click', function () {
      ({ in: function () { zoom(0.5); }, out: function () { zoom(2); }, all: function () { look(0, whole); } })[button.dataset.do]();
    });
  });

  var hits = [], next = 0;
  search.addEventListener('input', function () {
    words = search.value.toLowerCase().split(' ').filter(Boolean);
    matching = words.length ? data.labels.map(function (label) {
      var low = label.toLowerCase();
      return words.every(function (word) { return low.includes(word); });
    }) : null;
    hits = [];
    next = 0;
    if (matching) {
      data.tracks.forEach(function (track) {
        track.label.forEach(function (label, place) { if (matching[label]) { hits.push({ track: track, place: place }); } });
      });
      hits.sort(function (one, other) { return one.track.start[one.place] - other.track.start[other.place]; });
    }
    var time = hits.reduce(function (sum, one) { return sum + one.track.dur[one.place]; }, 0);
    document.getElementById('viewer-matches').textContent = words.length ? hits.length + (hits.length === 1 ? ' event, ' : ' events, ') + duration(time) + ' together; Enter: the next' : '';
    redraw();
  });
  search.addEventListener('keydown', function (event) {
    if (event.key !== 'Enter' || !hits.length) { return; }
    event.preventDefault();
    chosen = hits[next % hits.length];
    next += 1;
    tell(chosen);
    fill(chosen.track.start[chosen.place], Math.max(chosen.track.dur[chosen.place] * 4, (to - from) / 8));
  });

  // From a finding to its pieces.
  claims.forEach(function (claim) {
    var card = document.getElementById(claim.anchor), body = card && card.querySelector('.body');
    if (!body) { return; }
    var button = document.createElement('button');
    button.type = 'button';
    button.className = 'show';
    button.textContent = 'Show on the timeline';
    button.addEventListener('click', function () {
      var begin = claim.spans[0][0], end = Math.max.apply(null, claim.spans.map(function (span) { return span[1]; }));
      fill(begin, end - begin);
      tell({ claim: claim });
      box.scrollIntoView({ block: 'start' });
      canvas.focus({ preventScroll: true });
    });
    body.insertBefore(button, body.firstChild);
  });

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', function () { colours = {}; redraw(); });
  box.hidden = false;
  measure();
  new ResizeObserver(redraw).observe(canvas);
  look(0, whole);
})();
