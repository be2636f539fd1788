/** Checkpoints as files: the signed note, and a time stamp in a file of the same name with `.tsr`. */
import { open, readFile, stat } from 'node:fs/promises'
import { either as E } from 'fp-ts'
import { parseCheckpoint } from '../../domain/proof/checkpoint.js'
import { replaceFile } from '../../ports/file-draft.js'
import { manifestError } from '../../ports/manifest.js'
import { codeOf } from '../../ports/store-error.js'
import { fileSentence } from './signing-key.js'

/** A larger file is no checkpoint. */
const MOST_BYTES = 200_000
const MANIFEST_START = '{'

/** The text of a checkpoint file. Undefined for a manifest, whose lines are JSON, and for a file that cannot be opened. */
export async function readCheckpointFile(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MOST_BYTES), position: 0 })
    const text = buffer.subarray(0, bytesRead).toString('utf8')
    return text === '' || text.startsWith(MANIFEST_START) ? undefined : text
  } catch {
    // A directory, for example. The reader of manifests reports it.
    return undefined
  } finally {
    await file.close()
  }
}

/** Every user may read a checkpoint, as far as the umask allows it. */
const PUBLIC_FILE = 0o666

async function replace(path: string, content: string | Uint8Array): Promise<void> {
  await replaceFile(path, content, PUBLIC_FILE).catch((error: unknown) => {
    throw manifestError('FileUnusable', `${path} cannot be written: ${fileSentence(error)}`, error)
  })
}

/** Throws if a file must not be replaced by a checkpoint: only an earlier checkpoint of the same log is replaced. */
async function checkTarget(path: string, origin: string, size: number): Promise<void> {
  const known = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw manifestError('FileUnusable', `${path} cannot be read: ${fileSentence(error)}`, error)
  })
  if (known === undefined) return
  const parsed = parseCheckpoint(
    known.isFile() && known.size <= MOST_BYTES ? await readFile(path, 'utf8').catch(() => '') : '',
  )
  if (E.isLeft(parsed) || parsed.right.origin !== origin)
    throw manifestError('FileExists', `${path} already exists and is not a checkpoint of this log`)
  if (parsed.right.size > size)
    throw manifestError(
      'FileExists',
      `${path} has a newer checkpoint, of ${String(parsed.right.size)} events: it is not replaced by one of ${String(size)}`,
    )
}

/** Writes a checkpoint, and its time stamp. An existing file is replaced if it has an earlier checkpoint of the log. */
export async function publishCheckpointFile(
  path: string,
  {
    origin,
    size,
    note,
    timeStamp,
  }: { readonly origin: string; readonly size: number; readonly note: string; readonly timeStamp?: Uint8Array },
): Promise<void> {
  await checkTarget(path, origin, size)
  await replace(path, note)
  if (timeStamp !== undefined) await replace(`${path}.tsr`, timeStamp)
}
