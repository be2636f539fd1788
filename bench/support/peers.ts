/**
 * Packages that only benchmarks need, from `bench/node_modules`; undefined if they are not installed (`npm ci --prefix
 * bench`).
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './root.js'

export const NO_PEERS = 'the peers are not installed: npm ci --prefix bench'

/**
 * A peer package. The caller declares the types that it needs, because the peer's types are not installed during type
 * checking.
 */
export function peer(name: string): unknown {
  try {
    return createRequire(join(root, 'bench', 'package.json'))(name)
  } catch {
    return undefined
  }
}
