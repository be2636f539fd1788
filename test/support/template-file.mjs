/** The template of an empty database, which scripts/build.mjs makes. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
const SHA256_BYTES = 32

export const findTemplate = async () =>
  join(
    dist,
    (await readdir(dist)).find((file) => file.endsWith('.template')),
  )

export async function readTemplate() {
  const file = await readFile(await findTemplate())
  return new Blob([brotliDecompressSync(file.subarray(SHA256_BYTES))])
}
