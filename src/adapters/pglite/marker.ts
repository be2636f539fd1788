/** The file that marks a folder as a ledger, and says whether its database is complete. */
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { PRIVATE_FILE } from '../../ports/private-files.js'
import { codeOf, storeError } from '../../ports/store-error.js'
import { LOCK_NAME } from '../../lib/lock-record.js'
import { unusable, type FolderLock } from './folder-lock.js'

const MARKER = 'ledger.json'
const Marker = z.object({ ledger: z.literal('context-ledger'), version: z.number(), ready: z.boolean() })
type Marker = z.infer<typeof Marker>
const MARKER_VERSION = 1

/** Throws if the folder holds anything but a ledger. Runs before anything is written. */
export async function refuseForeign(folder: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw unusable(folder, error)
  }
  // File systems and desktops create `lost+found` and `.DS_Store` in empty folders.
  const content = names.filter(
    (name) => name !== LOCK_NAME && !name.startsWith(`${MARKER}.`) && name !== 'lost+found' && name !== '.DS_Store',
  )
  if (content.length === 0) return
  if (!content.includes(MARKER)) {
    throw storeError(
      'NotALedger',
      `${folder} is not a ledger: it contains ${content.slice(0, 3).join(', ')}${content.length > 3 ? ', …' : ''}. Nothing in it was changed. Name an empty folder, or one that does not exist`,
    )
  }
  await readMarker(folder)
}

export async function readMarker(folder: string): Promise<Marker | undefined> {
  let text: string
  try {
    text = await readFile(join(folder, MARKER), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(folder, error)
  }
  const marker = parseMarker(text)
  if (marker === undefined)
    throw storeError(
      'NotALedger',
      `${join(folder, MARKER)} was not written by this program; nothing in ${folder} was changed`,
    )
  if (marker.version > MARKER_VERSION) {
    throw storeError(
      'NewerSchema',
      `${folder} was created by a later version of this program (layout version ${String(marker.version)}; this program supports ${String(MARKER_VERSION)})`,
    )
  }
  return marker
}

function parseMarker(text: string): Marker | undefined {
  try {
    return Marker.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/**
 * Writes the marker atomically, so that a process killed here leaves the old one or the new one. A late writer with
 * `ready: false` never replaces an existing marker.
 */
export async function writeMarker(folder: string, lock: FolderLock, ready: boolean): Promise<void> {
  const marker = join(folder, MARKER)
  const draft = `${marker}.${String(lock.number)}`
  await writeFile(
    draft,
    `${JSON.stringify({ ledger: 'context-ledger', version: MARKER_VERSION, ready } satisfies Marker)}\n`,
    { mode: PRIVATE_FILE },
  )
  if (ready) return await rename(draft, marker)
  try {
    await link(draft, marker)
  } catch (error) {
    // A file system without hard links.
    if (codeOf(error) !== 'EEXIST') return await rename(draft, marker)
  }
  await rm(draft, { force: true })
}
