/**
 * The HTML reports that commands wrote from a ledger in a directory, noted in a file of this directory. They have
 * readable texts, and an erasure does not reach them, so `erase` names them. Nothing is noted for a ledger on a server:
 * its commands run on other machines.
 */
import { access, appendFile, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { PRIVATE_FILE } from '../ports/private-files.js'
import { codeOf } from '../ports/store-error.js'
import { isFolder } from './config/load-config.js'
import { note } from './output.js'

const NAME = 'reports.jsonl'

const reportSchema = z.object({
  /** Absolute path. */
  file: z.string(),
  /** Absent if the report is about all conversations. */
  conversationId: z.string().optional(),
})

/** Notes a report that was written. */
export async function noteReport(store: string, file: string, conversationId: string | undefined): Promise<void> {
  if (!isFolder(store)) return
  const line = JSON.stringify({ file: resolve(file), ...(conversationId === undefined ? {} : { conversationId }) })
  try {
    await appendFile(join(store, NAME), `${line}\n`, { mode: PRIVATE_FILE })
  } catch {
    note(`${file} could not be noted in ${store}: an erasure will not name it`)
  }
}

/** The noted reports about these conversations that still exist, or whose existence cannot be checked. */
export async function writtenReports(store: string, conversationIds: readonly string[]): Promise<string[]> {
  if (!isFolder(store)) return []
  const text = await readFile(join(store, NAME), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  })
  const found = new Set<string>()
  for (const line of text.split('\n')) {
    const report = reportSchema.safeParse(jsonOf(line)).data
    if (report === undefined) continue
    const { file, conversationId } = report
    if (conversationId === undefined ? conversationIds.length > 0 : conversationIds.includes(conversationId))
      if (await exists(file)) found.add(file)
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

async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    return codeOf(error) !== 'ENOENT'
  }
}
