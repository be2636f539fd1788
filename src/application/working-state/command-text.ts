/** A command without the change of directory before it. */
export const withoutFolder = (command: string): string =>
  command.replace(/^cd (?:"[^"]*"|'[^']*'|[^&;\s]+) ?(?:&&|;) ?/u, '')
