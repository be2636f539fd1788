/**
 * The template: an empty database that scripts/build.mjs creates when the program is built, and that is shipped with it.
 * The engine takes about 4 s to create a database and 1 s to load the template.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { builtFile } from '../../lib/package-root.js'

/** The template for `loadDataDir`; undefined if there is none, or if the file is damaged. */
export async function readTemplate(given?: string): Promise<Blob | undefined> {
  try {
    const file = given ?? (await templateFile())
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

/** The path of the template in `dist`, which is made with the engine of the build; undefined if there is none. */
async function templateFile(): Promise<string | undefined> {
  const name = (await readdir(builtFile())).find((file) => file.endsWith('.template'))
  return name === undefined ? undefined : builtFile(name)
}
