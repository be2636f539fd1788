/** Texts of conversations on this machine that wait for an agent or for a service, outside of every ledger. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PlannedErasure } from '../../library/ledger.js'
import { isRecord } from '../../lib/is-record.js'
import { ownFolder } from '../../lib/user-folders.js'
import { defaultHookFolder, forgetSession, removeExportsOf, sessionKey } from './hook/hook-folder.js'
import { UploadFile } from './push/upload-file.js'
import { mayExist } from './written-copies.js'

type Planned = Pick<PlannedErasure, 'source'>

/** The transcripts of these conversations that are on this machine. */
export async function transcriptsOf(planned: readonly Planned[]): Promise<string[]> {
  const files = new Set(planned.flatMap(({ source }) => source?.file ?? []))
  const found: string[] = []
  for (const file of files) if (await mayExist(file)) found.push(file)
  return found
}

const sessionOf = ({ program, sourceId }: { readonly program: string; readonly sourceId: string }): string =>
  JSON.stringify([program, sourceId])

/** The files of the queues of `push` that have items of these conversations. */
export async function waitingUploadsOf(planned: readonly Planned[]): Promise<string[]> {
  const sessions = new Set(planned.flatMap(({ source }) => (source === undefined ? [] : [sessionOf(source)])))
  const queues = ownFolder('state', 'push')
  const found: string[] = []
  if (sessions.size === 0) return found
  for (const queue of await readdir(queues).catch(() => [])) {
    const folder = join(queues, queue, 'uploads')
    for (const name of await readdir(folder).catch(() => [])) {
      const id = UploadFile.idOf(name)
      const upload = id === undefined ? undefined : await UploadFile.load(folder, id).catch(() => undefined)
      if (upload !== undefined && (await hasItemsOf(upload, sessions))) found.push(join(folder, name))
    }
  }
  return found
}

async function hasItemsOf(upload: UploadFile, sessions: ReadonlySet<string>): Promise<boolean> {
  for await (const item of upload.items())
    if (isRecord(item) && item['kind'] === 'conversation')
      if (sessions.has(sessionOf({ program: upload.head.program, sourceId: String(item['sourceId']) }))) return true
  return false
}

/** Removes the notes of hooks that wait for the agents of these conversations, and exports of their sessions. */
export function removeWaitingNotes(planned: readonly Planned[]): void {
  for (const { source } of planned)
    if (source !== undefined) {
      forgetSession(defaultHookFolder(), sessionKey(source.program, source.sourceId))
      removeExportsOf(defaultHookFolder(), source.sourceId)
    }
}
