/**
 * Copies that commands made outside of a ledger: HTML reports, exports with texts, and copies of the whole log. They have
 * readable texts, and an erasure does not reach them, so `erase` names them. They are noted in the directory of the
 * ledger; for a ledger on a server, in a directory of the user of this machine.
 */
import { createHash } from 'node:crypto'
import { access, appendFile, mkdir, readFile, readlink } from 'node:fs/promises'
import { fstatSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { ownFolder } from '../../lib/user-folders.js'
import { serverIdentity } from '../../library/addresses.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../ports/private-files.js'
import { codeOf } from '../../ports/store-error.js'
import { isFolder } from './config/load-config.js'
import { note } from './output.js'

const NAME = 'reports.jsonl'

const copySchema = z.object({
  /** Absolute path of a file or directory; absent if the copy is on a server, or its place is unknown. */
  file: z.string().optional(),
  /** For people; absent if the path says enough. */
  description: z.string().optional(),
  /** Absent if the copy has all conversations. */
  conversationId: z.string().optional(),
})
type WrittenCopy = z.infer<typeof copySchema>

/** The directory of the notes about a ledger. */
function notesOf(store: string): string {
  if (isFolder(store)) return store
  const server = createHash('sha256').update(serverIdentity(store) ?? store)
  return ownFolder('state', join('copies', server.digest('hex').slice(0, 16)))
}

const notesIn = async (folder: string): Promise<string> =>
  await readFile(join(folder, NAME), 'utf8').catch((error: unknown) => {
    if (isAbsent(error)) return ''
    throw error
  })

async function noteCopy(store: string, copy: WrittenCopy): Promise<void> {
  const folder = notesOf(store)
  const written = `${JSON.stringify(copy)}\n`
  try {
    if (!isFolder(store)) await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
    if ((await notesIn(folder)).includes(written)) return
    await appendFile(join(folder, NAME), written, { mode: PRIVATE_FILE })
  } catch {
    note(`${copy.file ?? copy.description ?? ''} could not be noted in ${folder}: an erasure will not name it`)
  }
}

const about = (conversationId: string | undefined): Pick<WrittenCopy, 'conversationId'> =>
  conversationId === undefined ? {} : { conversationId }

/** Notes a file that was written. */
export const noteFile = async (store: string, file: string, conversationId: string | undefined): Promise<void> => {
  await noteCopy(store, { file: resolve(file), ...about(conversationId) })
}

/**
 * Notes another log that has the events of the ledger.
 * @param address of a server, a directory or a file
 * @param name the address for people, without a password
 */
export const noteLog = async (store: string, address: string, name: string): Promise<void> => {
  const place = isFolder(address) ? { file: resolve(address) } : {}
  await noteCopy(store, { ...place, description: `the copy of the log in ${name}` })
}

/** Notes that a command prints texts to another program, or to a file. A terminal keeps no copy. */
export async function notePrinted(store: string, command: string, conversationId: string | undefined): Promise<void> {
  if (process.stdout.isTTY) return
  const file = await fileOfOutput()
  const description = `the output of \`${command}\``
  await noteCopy(store, { ...(file === undefined ? { description } : { file }), ...about(conversationId) })
}

/** The file into which the shell directs the output; undefined if it is none, or the system does not tell. */
async function fileOfOutput(): Promise<string | undefined> {
  try {
    return fstatSync(1).isFile() ? await readlink('/proc/self/fd/1') : undefined
  } catch {
    return undefined
  }
}

/** The noted copies of these conversations, without files and directories that do not exist any more. */
export async function writtenCopies(store: string, conversationIds: readonly string[]): Promise<string[]> {
  const text = await notesIn(notesOf(store))
  const found = new Set<string>()
  for (const line of text.split('\n')) {
    const { file, description, conversationId } = copySchema.safeParse(jsonOf(line)).data ?? {}
    const name = description ?? file
    if (name === undefined) continue
    if (conversationId === undefined ? conversationIds.length > 0 : conversationIds.includes(conversationId))
      if (file === undefined || (await mayExist(file))) found.add(name)
  }
  return [...found]
}

/** Undefined for a line that was not written completely. */
function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'

/** False only if it is known that a file does not exist. */
export async function mayExist(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    return !isAbsent(error)
  }
}
