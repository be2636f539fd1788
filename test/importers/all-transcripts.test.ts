/**
 * Imports every real transcript, and compares the result with independent scripts that read the same file: the counts,
 * and the context after each compaction.
 *
 * Where the two could differ, the choice was made by reading the file:
 * - Codex: a search or an image by the provider is a call, although it has no call id and no output follows it.
 * - Codex, trimmed files: all ids were made equal, so only the first record of an id keeps it.
 * - OpenHands: a state without events is not a conversation; neither is Cline's list of tasks.
 * - SWE-agent: the step that submits is only in `trajectory`, and counts as an answer with its call and its result.
 * - Single files of OpenHands and SWE-agent, and runs of Aider, contain no id: they are compared by order.
 * - Aider: a run without messages is not a conversation, and the last message of a file is omitted while it may
 *   continue.
 * - Claude Code: an attachment counts if its text is in the file; an attachment with only a file name does not.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { placeholderFor } from '../../src/domain/conversation/placeholders.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import { importers, readTranscript, recognizeTranscript } from '../../src/application/importers/index.js'
import { createRecordTranscript } from '../../src/application/importers/record-transcript.js'
import type { ChatMessage, ImportedTranscript, Ledger } from '../../src/index.js'
import { decodeEvent, isOfType } from '../../src/application/recording/read-event.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { createHarness, type Harness } from '../support/harness.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { isLong, longTest } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
import { countsOf, isOfFile } from '../support/recorded-counts.js'
import { claudeCodeContexts } from '../support/raw-contexts/claude-code.js'
import { codexContexts } from '../support/raw-contexts/codex.js'
import { geminiContexts } from '../support/raw-contexts/gemini.js'
import { opencodeContexts } from '../support/raw-contexts/opencode.js'
import { piContexts } from '../support/raw-contexts/pi.js'
import type { RawContext, ReadContexts } from '../support/raw-contexts/raw-contexts.js'
import { countAider } from '../support/raw-counts/aider.js'
import { countChatgpt } from '../support/raw-counts/chatgpt.js'
import { countClaudeCode } from '../support/raw-counts/claude-code.js'
import { countCline } from '../support/raw-counts/cline.js'
import { countCodex } from '../support/raw-counts/codex.js'
import { countGemini } from '../support/raw-counts/gemini.js'
import { countOpencode } from '../support/raw-counts/opencode.js'
import { countOpenhands } from '../support/raw-counts/openhands.js'
import { countPi } from '../support/raw-counts/pi.js'
import { countRoo } from '../support/raw-counts/roo.js'
import { countSweAgent } from '../support/raw-counts/swe-agent.js'
import type { CountRaw, RawCounts } from '../support/raw-counts/raw-counts.js'
import {
  describeWithTranscripts,
  realTranscripts,
  transcriptsFolder,
  type RealTranscript,
} from '../support/real-transcripts.js'

const COUNTERS: Readonly<Record<string, CountRaw>> = {
  'claude-code': countClaudeCode,
  codex: countCodex,
  pi: countPi,
  opencode: countOpencode,
  gemini: countGemini,
  openhands: countOpenhands,
  roo: countRoo,
  cline: countCline,
  chatgpt: countChatgpt,
  aider: countAider,
  'swe-agent': countSweAgent,
}

/** Programs whose files contain compactions. For the others, the directory has no file with one. */
const CONTEXTS: Readonly<Record<string, ReadContexts>> = {
  'claude-code': claudeCodeContexts,
  codex: codexContexts,
  pi: piContexts,
  opencode: opencodeContexts,
  gemini: geminiContexts,
}

const textField = (part: Readonly<Record<string, unknown>>, field: string): readonly string[] => {
  const value = part[field]
  return typeof value === 'string' ? [value] : []
}

/** The texts of a part: for an image its URL, for encrypted content the encrypted text. */
function textsOfPart(part: Readonly<Record<string, unknown>>): RawContext {
  const { image_url: image, item } = part
  const texts = ['text', 'thinking', 'encrypted_content'].flatMap((field) => textField(part, field))
  const inner = [image, item].flatMap((value) =>
    typeof value === 'object' && value !== null ? textsOfPart({ ...value }) : [],
  )
  return [...texts, ...textField(part, 'url'), ...inner]
}

/** The texts of a message in a context, with its calls. */
function textsOf({ content, tool_calls: calls = [] }: ChatMessage): RawContext {
  const texts = typeof content === 'string' ? [content] : (content ?? []).flatMap((part) => textsOfPart({ ...part }))
  const called = calls.map((call) =>
    call.type === 'function'
      ? `${call.function.name} ${call.function.arguments}`
      : `${call.custom.name} ${call.custom.input}`,
  )
  return [...texts, ...called]
}

const isNotEmpty = (text: string): boolean => text !== ''

/** Removes the directories of files, which depend on the machine. */
const withoutFolders = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutFolders)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === 'where' && typeof each === 'object' && each !== null && 'file' in each
        ? { ...each, file: basename(String(each.file)) }
        : withoutFolders(each),
    ]),
  )
}

type Streams = ReadonlyMap<string, readonly unknown[]>

/**
 * Imports into an in-memory store with a fixed clock, so that items without a time get the same time in every import.
 */
class TestImport {
  private readonly harness: Harness = createHarness()
  private readonly ids = new Set<string>()
  private readonly record = createRecordTranscript({
    log: this.harness.log,
    conversations: this.harness.conversations,
    clock: { now: () => new Date(0), newId: () => 'id' },
    summarizerWindowTokens: 128_000,
  })

  async import(path: string, program: string): Promise<void> {
    const found = await recognizeTranscript(path)
    // The first lines of a file may not be enough to recognize the program.
    const importer = found?.importer ?? importers.find((each) => each.program === program)
    if (importer === undefined) throw new Error(`there is no importer of ${program}`)
    const recorded = await this.record(readTranscript(path, importer, found?.layout ?? 'lines', plainContentId), {
      program,
      provenance: { actor: 'test', correlationId: 'r', causationId: 'r' },
    })
    if (E.isLeft(recorded)) throw new Error(`${path}: ${recorded.left.kind}`)
    for (const { conversationId } of recorded.right.conversations) this.ids.add(conversationId)
  }

  /** Conversation id → types and data of its events. */
  async streams(): Promise<Streams> {
    const streams = new Map<string, readonly unknown[]>()
    for (const id of [...this.ids].toSorted()) {
      const events: unknown[] = []
      for await (const stored of this.harness.store.readStream(conversationStream(id))) {
        const { type, data } = await decodeEvent(stored, this.harness.log)
        events.push({ type, data: withoutFolders(data) })
      }
      streams.set(id, events)
    }
    return streams
  }
}

/** The order of the imports: first truncated copies of each file, then each whole file. */
interface Order {
  readonly beginnings: readonly { readonly transcript: RealTranscript; readonly shares: readonly number[] }[]
  readonly wholes: readonly RealTranscript[]
}

/** A random order that depends only on the seed. */
function orderOf(transcripts: readonly RealTranscript[], cuts: number, seed: number): Order {
  const shuffled = fc.shuffledSubarray([...transcripts], { minLength: transcripts.length })
  const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: cuts, maxLength: cuts })
  const orders = fc
    .record({ first: shuffled, wholes: shuffled, shares: fc.array(shares, { minLength: transcripts.length }) })
    .map(({ first, wholes, shares: all }) => ({
      beginnings: first.map((transcript, at) => ({ transcript, shares: all[at] ?? [] })),
      wholes,
    }))
  return fc.sample(orders, { seed, numRuns: 1 })[0] ?? { beginnings: [], wholes: transcripts }
}

describeWithTranscripts('every real transcript (needs ../shared/transcripts, or CONTEXT_LEDGER_TRANSCRIPTS)', () => {
  let transcripts: readonly RealTranscript[]
  let ledger: Ledger
  let folder: string
  let imported: ReadonlyMap<RealTranscript, ImportedTranscript>
  let events: ReadonlyMap<string, readonly RecordedEvent[]>

  /** The events of a file's conversations with recorded events, in the order in which they begin. */
  const streamsOf = (transcript: RealTranscript): readonly (readonly [string, readonly RecordedEvent[]])[] =>
    (imported.get(transcript)?.conversations ?? []).flatMap(({ conversationId, sourceId }) => {
      const stream = events.get(conversationId) ?? []
      return stream.length === 0 ? [] : [[sourceId, stream] as const]
    })

  async function eventsNow(): Promise<ReadonlyMap<string, readonly RecordedEvent[]>> {
    const all = new Map<string, readonly RecordedEvent[]>()
    for (const { conversations } of imported.values())
      for (const { conversationId, revision } of conversations) {
        const stream: RecordedEvent[] = []
        if (revision >= 0) for await (const event of ledger.log(conversationId)) stream.push(event)
        all.set(conversationId, stream)
      }
    return all
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'all-transcripts-'))
    transcripts = await realTranscripts()
    ledger = await ledgerOn(await openTestDatabase())
    const results = new Map<RealTranscript, ImportedTranscript>()
    for (const transcript of transcripts) results.set(transcript, await ledger.transcripts.import(transcript.path))
    imported = results
    events = await eventsNow()
  }, 600_000)

  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })

  it('has the messages, calls, results, compactions, withdrawals, edits and parents of an independent count', async () => {
    const raw: Record<string, readonly RawCounts[]> = {}
    const recorded: Record<string, readonly RawCounts[]> = {}
    for (const transcript of transcripts) {
      const counted = (await COUNTERS[transcript.program]?.(transcript.path)) ?? []
      raw[transcript.name] = counted
      recorded[transcript.name] = streamsOf(transcript).map(([sourceId, stream], at) => {
        const counts = countsOf(sourceId, stream)
        return counted[at] !== undefined && counted[at].sourceId === undefined
          ? { ...counts, sourceId: undefined }
          : counts
      })
    }
    expect(recorded).toEqual(raw)
    expect(new Set(transcripts.map(({ program }) => program))).toEqual(new Set(Object.keys(COUNTERS)))
  })

  it('has after each compaction the context that the file contains', async () => {
    const expected: Record<string, readonly RawContext[]> = {}
    const actual: Record<string, readonly RawContext[]> = {}
    for (const transcript of transcripts) {
      const { name, path, program } = transcript
      const contexts = (await CONTEXTS[program]?.(path)) ?? []
      const contextsAfter: RawContext[] = []
      for (const [, stream] of streamsOf(transcript))
        for (const event of stream.filter((each) => isOfType(each, 'CompactionObserved')).filter(isOfFile)) {
          const prune = stream.find((each) => each.type === 'MessagesPruned' && each.revision > event.revision)
          const { messages } = await ledger.context(event.stream.slice(conversationStream('').length), {
            at: prune?.revision ?? event.revision,
          })
          // The ledger adds a placeholder for a call without a result.
          contextsAfter.push(
            messages.flatMap(textsOf).filter((text) => isNotEmpty(text) && text !== placeholderFor('').content),
          )
        }
      expected[name] = contexts.map((context) => context.filter(isNotEmpty))
      actual[name] = contextsAfter
    }
    expect(actual).toEqual(expected)
    expect(Object.values(expected).flat().length).toBeGreaterThan(isLong ? 10 : 3)
  })

  it('accounts at each compaction for every live message: covered, kept or unknown', () => {
    for (const transcript of transcripts)
      for (const [, stream] of streamsOf(transcript)) {
        const leading = new Set<string>()
        let live = new Set<string>()
        let messageCount = 0
        for (const event of stream) {
          if (isOfType(event, 'MessageAppended')) {
            // Instructions at the beginning of a conversation stay live, even if the program's context omits them.
            const isLeading = leading.size === messageCount && ['system', 'developer'].includes(event.data.role)
            if (isLeading) leading.add(event.data.messageId)
            else live.add(event.data.messageId)
            messageCount += 1
          }
          if (isOfType(event, 'MessagesWithdrawn'))
            for (const { messageId } of event.data.messages) live.delete(messageId)
          if (!isOfType(event, 'CompactionObserved')) continue
          const { context, covered, unknown } = event.data
          const retained = context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
          const coveredIds = covered?.messageIds ?? []
          const accounted = [...retained.filter((id) => !leading.has(id)), ...coveredIds]
          expect(accounted.toSorted()).toEqual([...live].toSorted())
          // Messages with an unknown outcome count as removed.
          expect(unknown.filter((id) => !coveredIds.includes(id))).toEqual([])
          live = new Set([...live].filter((id) => !coveredIds.includes(id)))
        }
      }
  })

  longTest('passes verification, including the rows of the read models', async () => {
    const { ok, problems } = await ledger.admin.verify()
    expect(problems).toEqual([])
    expect(ok).toBe(true)
  })

  it('records nothing if it is imported again, and is not read if it is unchanged', async () => {
    for (const { path } of transcripts)
      expect(await ledger.transcripts.import(path)).toMatchObject({ unchanged: true, conversations: [] })
    const copies = join(folder, 'copies')
    await cp(transcriptsFolder, copies, { recursive: true })
    for (const { name } of transcripts) {
      const { unchanged, conversations } = await ledger.transcripts.import(join(copies, name))
      expect(unchanged).toBe(false)
      for (const each of conversations)
        expect(each).toMatchObject({ messages: 0, compactions: 0, withdrawn: 0, edits: 0, damaged: 0 })
    }
    expect(await eventsNow()).toEqual(events)
  })

  /** Truncated copies of a file of lines, the shortest first, with the same name. */
  async function beginningsOf({ path, name }: RealTranscript, shares: readonly number[]): Promise<readonly string[]> {
    const found = await recognizeTranscript(path)
    if (found === undefined || found.layout === 'json') return []
    const lines = (await readFile(path, 'utf8')).replace(/\n$/u, '').split('\n')
    // Omits the last line, which may be incomplete.
    const ends = shares.map((share) => Math.max(1, Math.floor(share * (lines.length - 1))))
    const copies: string[] = []
    for (const end of ends.toSorted((a, b) => a - b)) {
      const copy = join(folder, `cut-${String(end)}`, name)
      await mkdir(dirname(copy), { recursive: true })
      await writeFile(copy, `${lines.slice(0, end).join('\n')}\n`)
      copies.push(copy)
    }
    return copies
  }

  async function inRandomOrder(seed: number, cuts: number): Promise<Streams> {
    const { beginnings, wholes } = orderOf(transcripts, cuts, seed)
    const testImport = new TestImport()
    for (const { transcript, shares } of beginnings)
      for (const beginning of await beginningsOf(transcript, shares))
        await testImport.import(beginning, transcript.program)
    for (const { path, program } of wholes) await testImport.import(path, program)
    return await testImport.streams()
  }

  async function inOrder(): Promise<Streams> {
    const testImport = new TestImport()
    for (const { path, program } of transcripts) await testImport.import(path, program)
    return await testImport.streams()
  }

  longTest('yields the same streams in any order, from truncated copies and whole files', async () => {
    expect(await inRandomOrder(1, 1)).toEqual(await inOrder())
  })

  longTest('yields the same streams in many orders, from several truncated copies and whole files', async () => {
    const once = await inOrder()
    for (let seed = 2; seed < 7; seed += 1) expect(await inRandomOrder(seed, 4)).toEqual(once)
  })
})
