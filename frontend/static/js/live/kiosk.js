// A classic script in the head: a kiosk has no bar, not even for a moment.
if (/[?&]kiosk=1(&|$)/.test(location.search)) document.documentElement.dataset.kiosk = "";
