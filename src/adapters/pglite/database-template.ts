/**
 * The template: an empty database that scripts/build.mjs creates when the program is built, and that is shipped with it.
 * The engine takes about 4 s to create a database and 1 s to load the template.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { z } from 'zod'
import { builtFile, packageFolderOf } from '../../lib/package-root.js'

/** The template for `loadDataDir`; undefined if this version of the engine has none, or if the file is damaged. */
export async function readTemplate(file = templateFile()): Promise<Blob | undefined> {
  try {
    if (file === undefined) return undefined
    const written = await readFile(file)
    // The file starts with a hash of the archive, because a damaged database may open without an error.
    const archive = written.subarray(SHA256_BYTES)
    if (!createHash('sha256').update(archive).digest().equals(written.subarray(0, SHA256_BYTES))) return undefined
    return new Blob([await promisify(brotliDecompress)(archive, { chunkSize: 1 << 20 })])
  } catch {
    // The engine creates a database instead.
    return undefined
  }
}

const SHA256_BYTES = 32
const Package = z.object({ version: z.string() })

/**
 * The path in `dist` of this package. The name is the one
 * that scripts/build.mjs uses.
 */
function templateFile(): string | undefined {
  const require = createRequire(import.meta.url)
  const engine = packageFolderOf(require.resolve('@electric-sql/pglite/nodefs'))
  if (engine === undefined) return undefined
  const { version } = Package.parse(require(join(engine, 'package.json')))
  return builtFile(`pglite-${version}.template`)
}
