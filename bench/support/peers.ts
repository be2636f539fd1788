/** Packages that only a benchmark needs, from `bench/node_modules`; undefined where nobody installed them (`npm ci --prefix bench`). */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './root.js'

export const NO_PEERS = 'the peers are not installed: npm ci --prefix bench'

/** A peer, with the shape that its caller needs of it. */
export function peer<Shape>(name: string): Shape | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the peers' own types are not there when this is checked
    return createRequire(join(root, 'bench', 'package.json'))(name) as Shape
  } catch {
    return undefined
  }
}
