// Elements of the page, and HTML that the server has made safe.

export function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

export function button(className, words, act) {
  const made = element('button', className, words);
  made.type = 'button';
  made.onclick = act;
  return made;
}

// Links to files of the project are for notebooks: this page stands elsewhere, so their names are plain text.
export function write(target, html) {
  target.innerHTML = html;
  for (const link of target.querySelectorAll('a[href]')) {
    if (!/^[a-z]+:/i.test(link.getAttribute('href'))) link.replaceWith(...link.childNodes);
  }
}
