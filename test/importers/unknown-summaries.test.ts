/**
 * A summary that a transcript does not have is unknown, for every program: its text is encrypted, empty, was never
 * written, or its record is cut off. Then nothing counts as lost, and each report says that the summary is unknown.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { either as E } from 'fp-ts'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { readTranscript, recognizeTranscript } from '../../src/application/importers/index.js'
import type { Summary } from '../../src/application/importers/transcript.js'
import { createRecordTranscript } from '../../src/application/importers/record-transcript.js'
import { contextNotes } from '../../src/domain/compaction/context-notes.js'
import { contextOf, SUMMARY_UNKNOWN } from '../../src/domain/compaction/context.js'
import { forgottenIn } from '../../src/application/losses/cycles.js'
import { stats } from '../../src/application/history/stats.js'
import { entriesOf } from '../../src/application/recall/entries.js'
import { compareWithContext } from '../../src/application/recall/context-comparison.js'
import { noteOf } from '../../src/application/recall/note.js'
import { loadConversation, type Log } from '../../src/application/recording/load-conversation.js'
import { createHarness, createTestClock } from '../support/harness.js'
import { COMPACTED_SESSIONS } from '../support/compacted-sessions.js'
import { isLong } from '../support/length.js'
import { hasSqlite, provideSqlite, writeSqlite } from '../support/sqlite-program.js'
import { writtenTranscripts } from '../support/written/index.js'

interface Source {
  readonly program: string
  readonly files: Readonly<Record<string, string>>
  readonly isDatabase?: true | undefined
}

const AT = '2026-09-01T10:00:00.000Z'
const SESSION = '6f1d2c3b-4a5e-4f60-8172-93a4b5c6d7e8'

const sources: readonly Source[] = [
  ...writtenTranscripts.filter(({ isDatabase }) => isDatabase !== true || hasSqlite),
  ...Object.entries(COMPACTED_SESSIONS).map(([program, sessionOf]): Source => {
    const { file, after } = sessionOf(SESSION, AT)
    return { program, files: { [`${program}/${file}`]: after } }
  }),
]

/** A text as it is inside a JSON string, and inside JSON in a statement of SQL. */
const forms = (text: string): readonly string[] => {
  const inJson = JSON.stringify(text)
  const inner = inJson.slice(1, -1)
  return [...new Set([inner, inner.replaceAll("'", "''"), JSON.stringify(inner).slice(1, -1), text])]
}

type Damage = (content: string, text: string) => string

const replaceText =
  (replacement: string): Damage =>
  (content, text) =>
    forms(text).reduce((all, form) => all.replaceAll(form, replacement), content)

/** Replaces the whole value of a field. */
const replaceValue =
  (value: string): Damage =>
  (content, text) =>
    forms(text).reduce((all, form) => all.replaceAll(`"${form}"`, value), content)

/** The ways in which a summary is missing. Lines exist in files of lines only. */
const damages: Readonly<Record<string, Damage>> = {
  empty: replaceText(''),
  blank: replaceText(' '),
  null: replaceValue('null'),
  encrypted: replaceValue('{"type":"encrypted_content","encrypted_content":"gAAAAB"}'),
  'of another type': replaceValue('0'),
  'of another field': (content, text) =>
    forms(text).reduce(
      (all, form) =>
        all.replaceAll(
          new RegExp(`"\\w+":\\s*"${form.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)}"`, 'gu'),
          '"absent":true',
        ),
      content,
    ),
  'in a removed line': (content, text) =>
    content
      .split('\n')
      .filter((line) => !line.startsWith('{') || !forms(text).some((form) => line.includes(form)))
      .join('\n'),
  'in a cut line': (content, text) =>
    content
      .split('\n')
      .map((line) => {
        const at = line.startsWith('{') ? Math.max(...forms(text).map((form) => line.indexOf(form))) : -1
        return at === -1 ? line : line.slice(0, at + 2)
      })
      .join('\n'),
}

let folder: string
let written = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unknown-summaries-'))
  provideSqlite()
})

afterAll(async () => {
  jest.restoreAllMocks()
  await rm(folder, { recursive: true })
})

/** Writes the files of a source into a new folder, and returns the path to import. */
async function write({ files, isDatabase }: Source): Promise<string> {
  written += 1
  const root = join(folder, String(written))
  for (const [path, content] of Object.entries(files)) {
    const target = join(root, path)
    await mkdir(dirname(target), { recursive: true })
    if (isDatabase === true) writeSqlite(target, content)
    else await writeFile(target, content)
  }
  return join(root, Object.keys(files)[0] ?? '')
}

async function summariesIn(path: string): Promise<readonly Summary[]> {
  const found = await recognizeTranscript(path)
  const summaries: Summary[] = []
  if (found !== undefined)
    for await (const item of readTranscript(path, found.importer, found.layout, plainContentId))
      if (item.kind === 'compaction') summaries.push(item.summary)
  return summaries
}

/** A database takes longer, since the program `sqlite3` writes it. */
const isTried = (name: string, { isDatabase }: Source): boolean => isDatabase !== true || isLong || name === 'empty'

/** The damaged forms of a source that differ from it, by the name of the damage. */
async function damaged(source: Source): Promise<readonly (readonly [name: string, source: Source])[]> {
  const summaries = await summariesIn(await write(source))
  const texts = summaries.flatMap((summary) => (summary.kind === 'text' ? [summary.text] : []))
  return Object.entries(damages).flatMap(([name, damage]) => {
    if (!isTried(name, source)) return []
    const files = Object.fromEntries(
      Object.entries(source.files).map(([path, content]) => [
        path,
        // The inner text first: a program may frame it in the context.
        texts.flatMap(innerTexts).reduce((all, text) => damage(all, text), content),
      ]),
    )
    return JSON.stringify(files) === JSON.stringify(source.files) ? [] : [[name, { ...source, files }] as const]
  })
}

/** A summary, and the part of it that the file has if the program frames it. */
const innerTexts = (text: string): readonly string[] => [text, text.trim(), ...text.split('\n\n').slice(-1)]

/** Records a transcript in a new ledger, and returns what its reports say wrongly about an unknown summary. */
async function reportsOf(path: string): Promise<readonly string[]> {
  const found = await recognizeTranscript(path)
  if (found === undefined) return []
  const { importer, layout } = found
  const { log, conversations } = createHarness()
  const record = createRecordTranscript({
    log,
    conversations,
    clock: createTestClock(),
    summarizerWindowTokens: 128_000,
  })
  const recorded = await record(readTranscript(path, importer, layout, plainContentId), {
    program: importer.program,
    provenance: { actor: 'test', correlationId: 'r', causationId: 'r' },
  })
  if (E.isLeft(recorded)) return [`is refused: ${recorded.left.kind}`]
  const ids = recorded.right.conversations.filter(({ revision }) => revision >= 0)
  return (await Promise.all(ids.map(({ conversationId }) => wrongIn(log, conversationId)))).flat()
}

async function wrongIn(log: Log, conversationId: string): Promise<readonly string[]> {
  let [unknown, last] = [0, false]
  let lost = 0
  for await (const { report } of forgottenIn(log, conversationId)) {
    last = report.summary.kind === 'opaque'
    if (last) unknown += 1
    if (last) lost += report.losses
  }
  const context = contextOf(await loadConversation(log, conversationId))
  if (E.isLeft(context)) return [context.left.kind]
  const { messages, observed } = context.right
  const missing = await compareWithContext(log, conversationId)
  const note = noteOf(entriesOf(missing, []), 2_000, [], missing.summary.kind === 'opaque').text
  const counted = stats(log, { conversationId, prices: {} })
  return [
    ...(lost === 0 ? [] : [`${String(lost)} items are lost, though the summary is unknown`]),
    ...((await counted).unknownSummaries === unknown ? [] : ['stats count other unknown summaries']),
    ...((observed?.summaryUnknown === true) === last ? [] : ['context']),
    ...(last && !contextNotes(context.right).includes(SUMMARY_UNKNOWN) ? ['the notes of the context'] : []),
    ...(last && note !== '' && !note.includes('cannot be read here') ? ['recall'] : []),
    ...(messages.some(({ content, tool_calls: calls }) => content === '' && calls === undefined && last)
      ? ['an empty message']
      : []),
  ]
}

/** The recorder takes an empty text as unknown. */
const isUnknown = (summary: Summary): boolean =>
  summary.kind === 'opaque' || (summary.kind === 'text' && summary.text.trim() === '')

const withUnknown = new Set<string>()

describe.each(sources.map((source) => [source.program, source] as const))('%s', (program, source) => {
  it('has an unknown summary, never none, if the transcript does not have its text', async () => {
    const before = await summariesIn(await write(source))
    // A program that truncates, or a user that clears the context, leaves no summary.
    const mayBeNone = before.some(({ kind }) => kind === 'none')
    for (const [name, each] of [['as written', source] as const, ...(await damaged(source))]) {
      const path = await write(each)
      const summaries = await summariesIn(path)
      const isNone = !mayBeNone && summaries.some(({ kind }) => kind === 'none')
      expect([name, isNone, await reportsOf(path)]).toEqual([name, false, []])
      if (summaries.some(isUnknown)) withUnknown.add(program)
    }
  })
})

it('is tried with the compactions of these programs', () => {
  const programs = ['amp', 'claude-code', 'claude-code-stream', 'codex', 'continue', 'copilot-cli', 'gemini', 'kimi']
  const databases = ['opencode', 'pi', 'qwen', 'vscode-copilot']
  expect([...withUnknown]).toEqual(expect.arrayContaining([...programs, ...databases]))
})
