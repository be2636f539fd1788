/** Quotes a word for a POSIX shell, so that a suggested command can be copied. */
export const shellWord = (word: string): string =>
  /^[\w./:@%+=-]+$/u.test(word) && !word.startsWith('-') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
