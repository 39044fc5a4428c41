// A block's first line names its file, or says what becomes of it (`.ci/pages`): that is shown above the block.
for (const code of document.querySelectorAll('main pre > code[class*=language-]')) {
  const words = code.className.split(' ').filter(word => !/^(language-|hljs|bash|editable|hide-boring)/.test(word));
  const told = words[0] == 'needs:' ? `needs ${words.slice(1).join(', ')}`
    : words[0] == 'sketch' ? 'a sketch, not run'
    : /\./.test(words[0] || '') ? words[0]
    : code.classList.contains('language-text') ? 'prints' : '';
  if (!told) continue;
  const caption = document.createElement('div');
  caption.className = 'caption';
  caption.textContent = told;
  code.parentElement.before(caption);
}
