'use strict';
// The events of one step as lanes to zoom into, which `viewer_drawing.js` draws.
// Names come from a trace anybody may have written: they are drawn and set as text only.
(function () {
  var box = document.getElementById('viewer');
  if (!box) { return; }
  var data = JSON.parse(document.getElementById('advisor-lanes').textContent);
  var claims = JSON.parse(document.getElementById('advisor-claims').textContent);
  var canvas = document.getElementById('viewer-lanes'), map = document.getElementById('viewer-map');
  var told = document.getElementById('viewer-told'), search = document.getElementById('viewer-search');
  var whole = Math.max(data.dur_ns, 1), words = [];
  var view = { whole: whole, from: 0, to: whole, width: 0, left: 0, matching: null, chosen: null, rows: [] };
  var lanes = advisorLanes(view, data, claims, canvas, map);
  var duration = lanes.duration, moment = lanes.moment, redraw = lanes.redraw;

  function timeAt(x) { return view.from + (x - view.left) / (view.width - view.left) * (view.to - view.from); }

  function look(begin, end) {
    var span = Math.min(Math.max(end - begin, Math.min(200, whole)), whole);
    view.from = Math.min(Math.max(begin, 0), whole - span);
    view.to = view.from + span;
    box.dataset.from = Math.round(view.from);
    box.dataset.to = Math.round(view.to);
    redraw();
  }

  function zoom(times, around) {
    var centre = around === undefined ? (view.from + view.to) / 2 : around;
    look(centre - (centre - view.from) * times, centre + (view.to - centre) * times);
  }

  function found(x, y) {
    var row = view.rows.find(function (one) { return y >= one.y && y < one.y + one.height; });
    if (!row || x < view.left) { return null; }
    var ns = timeAt(x), slack = (view.to - view.from) / (view.width - view.left);
    if (row.claim) {
      var inside = row.claim.spans.some(function (span) { return span[0] - slack <= ns && ns <= span[1] + slack; });
      return inside ? { claim: row.claim } : null;
    }
    var place = lanes.firstAfter(row.track, ns - slack);
    return place < row.track.start.length && row.track.start[place] <= ns + slack ? { track: row.track, place: place } : null;
  }

  function tell(one) {
    if (!one) { return; }
    if (one.claim) {
      var drawn = one.claim.spans.length, pieces = one.claim.pieces;
      told.textContent = one.claim.rule + ' ' + one.claim.title + ': ' + duration(one.claim.total_ns) + ' ' + told.dataset.of + ' in ' + pieces.toLocaleString('en') + (pieces === 1 ? ' piece' : ' pieces') +
        (drawn < pieces ? ', the longest ' + drawn + ' of which are drawn' : '');
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
    dragged = { x: event.clientX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', function (event) {
    var spot = position(event);
    if (!dragged) { tell(found(spot[0], spot[1])); return; }
    var moved = (dragged.x - event.clientX) / (view.width - view.left) * (dragged.to - dragged.from);
    dragged.moved = dragged.moved || Math.abs(dragged.x - event.clientX) > 3;
    if (dragged.moved) { look(dragged.from + moved, dragged.to + moved); }
  });
  canvas.addEventListener('pointerup', function (event) {
    if (dragged && !dragged.moved) {
      var spot = position(event), one = found(spot[0], spot[1]);
      view.chosen = one && one.track ? one : null;
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
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { var by = event.deltaX / (view.width - view.left) * (view.to - view.from); look(view.from + by, view.to + by); return; }
    zoom(Math.pow(1.0018, event.deltaY), timeAt(Math.max(position(event)[0], view.left)));
  }, { passive: false });
  canvas.addEventListener('keydown', function (event) {
    var by = (view.to - view.from) / 5;
    var act = {
      ArrowLeft: function () { look(view.from - by, view.to - by); }, ArrowRight: function () { look(view.from + by, view.to + by); },
      '+': function () { zoom(0.6); }, '=': function () { zoom(0.6); }, '-': function () { zoom(1 / 0.6); }, '0': function () { look(0, whole); }
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  function centre(event) {
    var edge = map.getBoundingClientRect(), ns = (event.clientX - edge.left) / edge.width * whole, half = (view.to - view.from) / 2;
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
    view.matching = words.length ? data.labels.map(function (label) {
      var low = label.toLowerCase();
      return words.every(function (word) { return low.includes(word); });
    }) : null;
    hits = [];
    next = 0;
    if (view.matching) {
      data.tracks.forEach(function (track) {
        track.label.forEach(function (label, place) { if (view.matching[label]) { hits.push({ track: track, place: place }); } });
      });
      hits.sort(function (one, other) { return one.track.start[one.place] - other.track.start[other.place]; });
    }
    var time = hits.reduce(function (sum, one) { return sum + one.track.dur[one.place]; }, 0);
    document.getElementById('viewer-matches').textContent = words.length ? hits.length.toLocaleString('en') + (hits.length === 1 ? ' event, ' : ' events, ') + duration(time) + ' together; Enter: the next' : '';
    redraw();
  });
  search.addEventListener('keydown', function (event) {
    if (event.key !== 'Enter' || !hits.length) { return; }
    event.preventDefault();
    view.chosen = hits[next % hits.length];
    next += 1;
    tell(view.chosen);
    fill(view.chosen.track.start[view.chosen.place], Math.max(view.chosen.track.dur[view.chosen.place] * 4, (view.to - view.from) / 8));
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

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', lanes.otherColours);
  box.hidden = false;
  lanes.measure();
  new ResizeObserver(redraw).observe(canvas);
  look(0, whole);
})();
