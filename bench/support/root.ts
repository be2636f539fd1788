/** The repository's folder, wherever this file was built to. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

function find(folder: string): string {
  try {
    const known: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (typeof known === 'object' && known !== null && 'name' in known && known.name === 'context-ledger') return folder
  } catch {
    // Not in this folder.
  }
  const above = dirname(folder)
  if (above === folder) throw new Error('the repository of context-ledger is not above this file')
  return find(above)
}

export const root = find(dirname(fileURLToPath(import.meta.url)))
