'use strict';
// Long tables can be sorted by a click on a column's heading, and searched. Figures are compared by what they say: 2 ms is more than 900 us.
(function () {
  var SCALES = {
    ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776,
    k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15
  };
  var SORTED_FROM = 4, SEARCHED_FROM = 10;

  // What a cell is worth; null where it holds no figure.
  var worth = function (text) {
    var found = /^([-+−]?[\d.,]+)\s*([A-Za-z/]*)/.exec(text.replace(/\u00a0/g, ' ').trim());
    if (!found) { return null; }
    // Rates bear their prefix before the unit: GFLOP/s, MB/s.
    var scale = SCALES[found[2]] || (/^[kMGTP](FLOP|B)\/s$/.test(found[2]) ? SCALES[found[2][0]] : 1);
    return parseFloat(found[1].replace(/,/g, '').replace('−', '-')) * scale;
  };

  var compare = function (one, other, falls) {
    // Cells without a figure stand below those with one, whichever way the column is sorted.
    if (one.worth === null && other.worth === null) {
      return falls ? other.text.localeCompare(one.text) : one.text.localeCompare(other.text);
    }
    if (one.worth === null || other.worth === null) { return one.worth === null ? 1 : -1; }
    return falls ? other.worth - one.worth : one.worth - other.worth;
  };

  var sortable = function (table) {
    var heads = table.tHead.rows[0].cells;
    var body = table.tBodies[0];
    // Where a row is a line for each cell, the headings are there for this alone.
    table.classList.add('sorted');
    Array.from(heads).forEach(function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener('click', function () {
        var figures = head.classList.contains('right');
        var now = head.getAttribute('aria-sort');
        // Figures begin with the largest, names with the first.
        var falls = now ? now === 'ascending' : figures;
        Array.from(heads).forEach(function (other) { other.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
        Array.from(body.rows).map(function (row) {
          var text = row.cells[column].textContent.trim();
          return { row: row, text: text, worth: figures ? worth(text) : null };
        }).sort(function (one, other) { return compare(one, other, falls); })
          .forEach(function (one) { body.append(one.row); });
      });
    });
  };

  var searchable = function (table) {
    var caption = table.caption.textContent;
    var line = document.createElement('p');
    line.className = 'filter';
    var field = document.createElement('input');
    field.type = 'search';
    field.autocomplete = 'off';
    field.placeholder = 'Search';
    field.setAttribute('aria-label', 'Search in: ' + caption);
    var said = document.createElement('span');
    said.className = 'quiet';
    said.setAttribute('role', 'status');
    line.append(field, ' ', said);
    table.parentElement.before(line);
    field.addEventListener('input', function () {
      var words = field.value.toLowerCase().split(' ').filter(Boolean);
      var rows = Array.from(table.tBodies[0].rows);
      var shown = 0;
      rows.forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.includes(word); });
        shown += row.hidden ? 0 : 1;
      });
      said.textContent = words.length ? shown + ' of ' + rows.length : '';
    });
  };

  document.querySelectorAll('.scroll > table').forEach(function (table) {
    var rows = table.tBodies[0].rows.length;
    if (rows >= SORTED_FROM) { sortable(table); }
    if (rows >= SEARCHED_FROM) { searchable(table); }
  });
})();
