'use strict';
// The page is complete without this: it only copies, filters, opens what an address names and what is printed.
(function () {
  document.querySelectorAll('.needs-script').forEach(function (element) { element.hidden = false; });

  document.querySelectorAll('.copy').forEach(function (button) {
    button.addEventListener('click', function () {
      var code = button.parentElement.querySelector('code');
      var done = function () {
        button.textContent = 'Copied';
        setTimeout(function () { button.textContent = 'Copy'; }, 1500);
      };
      var select = function () {
        var range = document.createRange();
        range.selectNodeContents(code);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
      };
      if (navigator.clipboard) { navigator.clipboard.writeText(code.textContent).then(done, select); } else { select(); }
    });
  });

  var openNamed = function () {
    var name = location.hash.slice(1);
    var element = name ? document.getElementById(name) : null;
    if (element && element.tagName === 'DETAILS') { element.open = true; element.scrollIntoView(); }
  };
  addEventListener('hashchange', openNamed);
  openNamed();

  var filter = document.getElementById('filter');
  if (filter) {
    filter.addEventListener('input', function () {
      var words = filter.value.toLowerCase().split(' ').filter(Boolean);
      var all = document.querySelectorAll('.finding');
      var shown = 0;
      all.forEach(function (finding) {
        var text = finding.textContent.toLowerCase();
        finding.hidden = !words.every(function (word) { return text.includes(word); });
        shown += finding.hidden ? 0 : 1;
      });
      document.getElementById('matches').textContent = words.length ? shown + ' of ' + all.length + ' findings' : '';
    });
  }

  // Printed are the findings; the tables only where asked for, or opened by hand.
  var closed = [];
  var everything = document.getElementById('print-all');
  addEventListener('beforeprint', function () {
    var all = everything !== null && everything.checked;
    closed = Array.from(document.querySelectorAll(all ? 'details:not([open])' : 'details.finding:not([open])'));
    closed.forEach(function (element) { element.open = true; });
  });
  addEventListener('afterprint', function () { closed.forEach(function (element) { element.open = false; }); });
})();
