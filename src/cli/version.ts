import { readFileSync } from 'node:fs'

/** The version of the package, found in any build directory. */
export function version(): string {
  for (let folder = new URL('.', import.meta.url), above: URL; ; folder = above) {
    above = new URL('..', folder)
    try {
      const found: unknown = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
      if (
        typeof found === 'object' &&
        found !== null &&
        'name' in found &&
        found.name === 'context-ledger' &&
        'version' in found
      )
        return String(found.version)
    } catch {
      // Not in this folder.
    }
    if (above.href === folder.href) return 'unknown'
  }
}
