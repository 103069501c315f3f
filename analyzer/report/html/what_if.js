// What a choice of findings gives: the sum of analyzer/page/findings/what_if.py, from the document that the page holds.
(function () {
  var box = document.getElementById('what-if'), held = document.getElementById('advisor-analysis');
  if (!box || !held) { return; }
  var analysis = JSON.parse(held.textContent), model = analysis.what_if, summary = analysis.summary;
  if (!model) { return; }
  var SVG = 'http://www.w3.org/2000/svg', kinds = {};
  box.querySelectorAll('.causes li').forEach(function (one) { kinds[one.dataset.cause] = one; });

  var figure = function (value) { return value >= 9.95 ? Math.round(value).toLocaleString('en-US') : value.toFixed(1); };
  var duration = function (ns) {
    var units = [['s', 1e9], ['ms', 1e6], ['us', 1e3]];
    for (var i = 0; i < units.length; i++) {
      if (ns >= units[i][1] * 0.9995) { return figure(ns / units[i][1]) + '\u00a0' + units[i][0]; }
    }
    return Math.round(ns) + '\u00a0ns';
  };
  var share = function (ratio) {
    var percent = ratio * 100;
    return percent > 0 && percent < 0.1 ? '<0.1\u00a0%' : (percent >= 9.95 || percent === 0 ? Math.round(percent) : percent.toFixed(1)) + '\u00a0%';
  };

  var goes = function (piece, chosen) {
    var ways = {}, left = 1;
    piece.parts.forEach(function (part) {
      if (chosen[part.by]) { ways[part.way] = Math.max(ways[part.way] || 0, part.ratio); }
    });
    Object.keys(ways).forEach(function (way) { left *= 1 - ways[way]; });
    return 1 - left;
  };
  var leaves = function (together, chosen) {
    var causes = {}, weights = {}, claimed = 0, wanted = 0;
    summary.waterfall.forEach(function (part) { causes[part.cause] = part.ns; });
    together.claims.forEach(function (piece) {
      if (piece.by.some(function (place) { return chosen[place]; })) {
        claimed += piece.ns;
        if (piece.cause) { causes[piece.cause] -= piece.ns; }
      }
    });
    together.shrinking.forEach(function (cause) { weights[cause] = 0; });
    together.unplaced.forEach(function (one) { wanted += chosen[one.by] ? one.ns : 0; });
    together.shorter.forEach(function (piece) {
      var gone = piece.ns * goes(piece, chosen);
      wanted += gone;
      if (piece.cause) { weights[piece.cause] = (weights[piece.cause] || 0) + gone; }
    });
    var room = together.shrinking.reduce(function (sum, cause) { return sum + (causes[cause] || 0); }, 0);
    var shorter = Math.min(Math.round(wanted), Math.max(Math.floor(room), 0)), left = shorter;
    var take = function (cause, most) {
      var taken = Math.min(most, causes[cause] || 0, left);
      if (taken > 0) { causes[cause] -= taken; left -= taken; }
    };
    Object.keys(weights).forEach(function (cause) { take(cause, weights[cause]); });
    together.shrinking.forEach(function (cause) { take(cause, Infinity); });
    return { causes: causes, window: summary.window_ns - Math.min(claimed + shorter, summary.window_ns) };
  };

  var piece = function (name, values, parent) {
    var made = document.createElementNS(SVG, name);
    Object.keys(values).forEach(function (key) { made.setAttribute(key, values[key]); });
    parent.appendChild(made);
    return made;
  };
  var drawBar = function (left) {
    var svg = box.querySelector('.bar'), x = 0, whole = summary.window_ns;
    svg.textContent = '';
    piece('rect', { 'class': 'track', width: 960, height: 34, rx: 2 }, svg);
    summary.waterfall.forEach(function (part) {
      var ns = Math.max(left.causes[part.cause], 0), width = whole ? ns / whole * 960 : 0, row = kinds[part.cause];
      row.hidden = ns / whole < 1e-4;
      row.querySelector('b').textContent = duration(ns / summary.used_steps);
      if (width > 0) {
        piece('title', {}, piece('rect', { 'class': row.dataset.kind, x: x, width: Math.max(width - 1.5, Math.min(width, 0.5)), height: 34, rx: 2 }, svg))
          .textContent = row.dataset.name + ': ' + duration(ns / summary.used_steps);
      }
      x += width;
    });
  };
  var cutOf = function (chosen) {
    var pieces = [], united = [];
    analysis.findings.forEach(function (finding) {
      if (!chosen[model.ids.indexOf(finding.id)]) { return; }
      finding.evidence.forEach(function (one) {
        if (one.spans && one.step === analysis.timeline.step) { pieces = pieces.concat(one.spans); }
      });
    });
    pieces.sort(function (a, b) { return a[0] - b[0] || a[1] - b[1]; });
    pieces.forEach(function (one) {
      var last = united[united.length - 1];
      if (last && one[0] <= last[1]) { last[1] = Math.max(last[1], one[1]); } else if (one[1] > one[0]) { united.push(one.slice()); }
    });
    return function (at) {
      return united.reduce(function (moved, gap) { return moved - Math.max(0, Math.min(at, gap[1]) - gap[0]); }, at);
    };
  };
  var drawLanes = function (chosen) {
    var svg = box.querySelector('.lanes'), whole = analysis.timeline.dur_ns, lanes = analysis.timeline.lanes, moved = cutOf(chosen);
    svg.textContent = '';
    svg.setAttribute('viewBox', '0 0 960 ' + (lanes.length * 30 + 2));
    lanes.forEach(function (lane, row) {
      piece('text', { x: 0, y: row * 30 + 19 }, svg).textContent = lane.name.slice(0, 10);
      lane.spans.forEach(function (span) {
        var from = moved(span.start_ns), to = moved(span.start_ns + span.dur_ns);
        if (to <= from) { return; }
        piece('rect', { 'class': kinds[span.cause].dataset.kind, x: 76 + from / whole * 884, y: row * 30 + 3, width: Math.max((to - from) / whole * 884, 0.5), height: 23 }, svg);
      });
    });
    return moved(whole);
  };

  var redraw = function () {
    var chosen = {}, any = false, estimate = false, mean = summary.step_ns.mean, steps = Math.max(summary.used_steps, 1);
    box.querySelectorAll('input').forEach(function (one) {
      var place = model.ids.indexOf(one.value);
      if (one.checked && place >= 0) { chosen[place] = true; any = true; estimate = estimate || model.kinds[place] === 'estimate'; }
    });
    var stated = leaves(model.stated, chosen), likely = leaves(model.likely || model.stated, chosen);
    var step = Math.floor(stated.window / steps), usual = Math.floor(likely.window / steps), said = box.querySelector('output');
    said.dataset.step = step;
    said.dataset.likely = usual;
    said.dataset.causes = summary.waterfall.map(function (part) { return Math.round(Math.max(stated.causes[part.cause], 0)); }).join(' ');
    box.querySelector('.drawn').hidden = !any;
    var added = Number(box.dataset.added), beyond = step < added && duration(step) !== duration(added);
    if (!any) { said.textContent = 'Tick what you would fix.'; return; }
    said.textContent = duration(mean) + ' ' + box.dataset.each + ' would be ' + duration(step) + ': saves ' + box.dataset[estimate ? 'estimate' : 'bound'] + ' ' +
      duration(mean - step) + ' (' + share(1 - stated.window / summary.window_ns) + ')' + (step && !beyond ? ', ' + (mean / step).toFixed(1) + ' times as fast' : '') +
      ', the rest staying as it is.' + (beyond ? ' ' + box.dataset.profilers : '') + (duration(usual) !== duration(step) ? ' ' + duration(usual) + ' is likely.' : '');
    drawBar(stated);
    said.dataset.drawn = drawLanes(chosen);
  };
  box.addEventListener('change', redraw);
  redraw();
})();
