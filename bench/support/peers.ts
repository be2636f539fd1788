/**
 * Packages that only a benchmark needs, from `bench/node_modules`; undefined where nobody installed them (`npm ci
 * --prefix bench`).
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './root.js'

export const NO_PEERS = 'the peers are not installed: npm ci --prefix bench'

/** A peer; its caller says what it needs of it, because the peers' own types are not there when this is checked. */
export function peer(name: string): unknown {
  try {
    return createRequire(join(root, 'bench', 'package.json'))(name)
  } catch {
    return undefined
  }
}
