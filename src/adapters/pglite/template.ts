/**
 * An empty database as the engine makes it, made once when the program is built (scripts/build.mjs) and shipped with
 * it. The engine takes some 4 s of work to create one, and 1 s to load this one.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { z } from 'zod'

/**
 * What `loadDataDir` takes; undefined where there is none for this version of the engine, or where it is not what was
 * written.
 */
export async function readTemplate(file = templateFile()): Promise<Blob | undefined> {
  try {
    if (file === undefined) return undefined
    const written = await readFile(file)
    // A hash stands before the archive: a damaged database may well open, and be missed for years.
    const archive = written.subarray(SHA256_BYTES)
    if (!createHash('sha256').update(archive).digest().equals(written.subarray(0, SHA256_BYTES))) return undefined
    return new Blob([await promisify(brotliDecompress)(archive, { chunkSize: 1 << 20 })])
  } catch {
    // The engine makes its own.
    return undefined
  }
}

const SHA256_BYTES = 32
const Package = z.object({ version: z.string() })

/**
 * In `dist` of our own package, wherever below it this very file lies (`src`, or `dist/src` when it is built). The name
 * is as scripts/build.mjs gives it.
 */
function templateFile(): string | undefined {
  const own = fileURLToPath(import.meta.url)
  const root = packageOf(own)
  const engine = packageOf(createRequire(own).resolve('@electric-sql/pglite'))
  if (root === undefined || engine === undefined) return undefined
  const { version } = Package.parse(createRequire(own)(join(engine, 'package.json')))
  return join(root, 'dist', `pglite-${version}.template`)
}

function packageOf(file: string): string | undefined {
  const folder = dirname(file)
  if (folder === file) return undefined
  return existsSync(join(folder, 'package.json')) ? folder : packageOf(folder)
}
