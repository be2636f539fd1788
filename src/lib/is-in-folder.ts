/** Compares the paths of folders, with the separators of any system. */
const plain = (path: string): string => path.replaceAll('\\', '/').replace(/\/+$/u, '')

/** Whether a path is a folder, or in it. Both are absolute. */
export const isInFolder = (path: string, folder: string): boolean =>
  plain(path) === plain(folder) || plain(path).startsWith(`${plain(folder)}/`)
