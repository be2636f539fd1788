/**
 * Counts conversations of opencode: from `opencode export`, and from the directories of versions before the database.
 * An answer is a step with text or calls. A user's message that only requests a compaction, and the answer with its
 * summary, are the compaction.
 */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { CountRaw, RawCounts } from './raw-counts.js'
import { isFolder, listOf, rawFile, rawFiles, rawOf, wordOf, type Raw } from './raw-json.js'

interface Message {
  readonly info: Raw
  readonly parts: readonly Raw[]
}

const ANSWER_PARTS = new Set<unknown>(['text', 'reasoning', 'tool', 'file'])
const PROMPT_PARTS = new Set<unknown>(['text', 'file', 'agent', 'subtask'])

const isOf =
  (...types: readonly string[]) =>
  (part: Raw): boolean =>
    types.includes(String(part['type']))

/** Number of steps with content. */
function answersIn(parts: readonly Raw[]): number {
  let answers = 0
  let hasContent = false
  for (const part of [...parts, { type: 'step-start' }]) {
    if (isOf('step-start')(part)) {
      answers += hasContent ? 1 : 0
      hasContent = false
    } else hasContent ||= ANSWER_PARTS.has(part['type'])
  }
  return answers
}

const isSummary = ({ info }: Message): boolean => info['role'] === 'assistant' && info['summary'] === true
const stateOf = (part: Raw): Raw => rawOf(part['state'])
const isAnswered = (part: Raw): boolean => ['completed', 'error'].includes(String(stateOf(part)['status']))

function countsOf(session: Raw, all: readonly Message[]): RawCounts {
  const withoutSummaries = all.filter((message) => !isSummary(message))
  const users = withoutSummaries.filter(
    ({ info, parts }) =>
      info['role'] === 'user' && parts.some((part) => PROMPT_PARTS.has(part['type']) && part['ignored'] !== true),
  )
  const answers = withoutSummaries.filter(({ info }) => info['role'] === 'assistant')
  const tools = answers.flatMap(({ parts }) => parts.filter(isOf('tool')))
  const results = tools.filter(isAnswered).length
  const messagesIn = ({ info, parts }: Message): number =>
    info['role'] === 'assistant' ? answersIn(parts) + parts.filter(isOf('tool')).filter(isAnswered).length : 1
  const revertedFrom = all.findIndex(({ info }) => info['id'] === (wordOf(rawOf(session['revert'])['messageID']) ?? ''))
  const reverted = revertedFrom === -1 ? [] : all.slice(revertedFrom)
  return {
    sourceId: wordOf(session['id']) ?? '',
    messages: {
      instruction: 0,
      user: users.length,
      assistant: answers.reduce((sum, { parts }) => sum + answersIn(parts), 0),
      tool: results,
    },
    calls: tools.length,
    results,
    compactions: all.filter((message) => isSummary(message) && answersIn(message.parts) > 0).length,
    withdrawn: [...users, ...answers]
      .filter((message) => reverted.includes(message))
      .reduce((sum, message) => sum + messagesIn(message), 0),
    edits: tools.filter((part) => typeof rawOf(stateOf(part)['time'])['compacted'] === 'number').length,
    parent: wordOf(session['parentID']),
  }
}

/** The messages of a session in `storage/`, oldest first. */
async function stored(storage: string, session: Raw): Promise<readonly Message[]> {
  const messages: Message[] = []
  for (const info of await rawFiles(join(storage, 'message', wordOf(session['id']) ?? '-')))
    messages.push({ info, parts: await rawFiles(join(storage, 'part', wordOf(info['id']) ?? '-')) })
  const created = ({ info }: Message): number => Number(rawOf(info['time'])['created'] ?? 0)
  return messages.toSorted((one, other) => created(one) - created(other))
}

/** The session of a message file in `storage/`. */
async function sessionOf(storage: string, id: string): Promise<Raw> {
  for (const project of await readdir(join(storage, 'session')))
    for (const session of await rawFiles(join(storage, 'session', project))) if (session['id'] === id) return session
  return {}
}

/** @param path an export, a `storage` directory, or the file of a session or message in it */
export const countOpencode: CountRaw = async (path) => {
  if (await isFolder(path)) {
    const counts: RawCounts[] = []
    for (const project of (await readdir(join(path, 'session'))).toSorted())
      for (const session of await rawFiles(join(path, 'session', project)))
        counts.push(countsOf(session, await stored(path, session)))
    return counts
  }
  const value = rawOf(await rawFile(path))
  if (basename(dirname(dirname(path))) === 'session')
    return [countsOf(value, await stored(dirname(dirname(dirname(path))), value))]
  if (basename(dirname(dirname(path))) === 'message') {
    const storage = dirname(dirname(dirname(path)))
    const session = await sessionOf(storage, basename(dirname(path)))
    return [countsOf(session, await stored(storage, session))]
  }
  const messages = listOf(value['messages']).map(({ info, parts }) => ({ info: rawOf(info), parts: listOf(parts) }))
  return [countsOf(rawOf(value['info']), messages)]
}
