/**
 * Every raw file of the folder of real transcripts, imported, and held against what scripts apart from the importers read
 * in the same file: how much was said, and what the model was given behind each compaction.
 *
 * Where the two could differ, a choice was made by reading the file:
 * - Codex: a search or a picture of the provider is a call, though it has no id of a call and no output follows it.
 * - Codex, trimmed: its ids were all made equal, so that only the first record of an id keeps it.
 * - OpenHands: a state without any event is no conversation; Cline's list of tasks is none either.
 * - SWE-agent: the step that submits stands in `trajectory` alone, and counts as an answer with its call and its result.
 * - Loose files of OpenHands and of SWE-agent, and runs of Aider, name no id: they are compared by their order.
 * - Aider: a run without a word is no conversation, and the last message of a file is not told while it may go on.
 * - Claude Code: an attachment counts where its text is in the file; of a file that is only named, none is.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { MessageBody } from '../../src/domain/values/message.js'
import { importers, readTranscript, recognizeTranscript } from '../../src/importers/index.js'
import { createRecordTranscript } from '../../src/importers/record-transcript.js'
import type { ChatMessage, ImportedTranscript, Ledger } from '../../src/index.js'
import { decodeEvent, isOfType } from '../../src/recording/read-event.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { createHarness, type Harness } from '../support/harness.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { longTest } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
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

/** Programs whose files tell of compactions; of the others, the folder holds none that do. */
const CONTEXTS: Readonly<Record<string, ReadContexts>> = {
  'claude-code': claudeCodeContexts,
  codex: codexContexts,
  pi: piContexts,
  opencode: opencodeContexts,
  gemini: geminiContexts,
}

/** What the provider called for itself stands in a part of the answer. */
const PROVIDER_CALLS = new Set(['web_search', 'image_generation'])

const callsIn = ({ content, toolCalls = [] }: MessageBody): number =>
  toolCalls.length + (Array.isArray(content) ? content.filter(({ type }) => PROVIDER_CALLS.has(type)).length : 0)

/** An undone compaction is told as one more, which the file has no record of. */
const isOfFile = (event: RecordedEvent<'CompactionObserved'>): boolean => !event.data.sourceId.startsWith('undo of ')

/** What is recorded of a conversation, as the counters count. */
function countsOf(sourceId: string, events: readonly RecordedEvent[]): RawCounts {
  const messages = events.filter((event) => isOfType(event, 'MessageAppended')).map(({ data }) => data)
  const inRole = (...roles: readonly string[]): number => messages.filter(({ role }) => roles.includes(role)).length
  const begun = events.find((event) => isOfType(event, 'ConversationObserved'))
  return {
    sourceId,
    messages: {
      instruction: inRole('system', 'developer'),
      user: inRole('user'),
      assistant: inRole('assistant'),
      tool: inRole('tool'),
    },
    calls: messages.reduce((sum, message) => sum + callsIn(message), 0),
    results: inRole('tool'),
    compactions: events.filter((event) => isOfType(event, 'CompactionObserved')).filter(isOfFile).length,
    withdrawn: events
      .filter((event) => isOfType(event, 'MessagesWithdrawn'))
      .reduce((sum, { data }) => sum + data.messages.length, 0),
    edits: events.filter((event) => isOfType(event, 'ContributionEdited')).length,
    parent: begun?.data.parent?.sourceId,
  }
}

const textField = (part: Readonly<Record<string, unknown>>, field: string): readonly string[] => {
  const value = part[field]
  return typeof value === 'string' ? [value] : []
}

/** The texts of a part; of a picture its address, and of what is sealed the sealed text. */
function textsOfPart(part: Readonly<Record<string, unknown>>): RawContext {
  const { image_url: image, item } = part
  const own = ['text', 'thinking', 'encrypted_content'].flatMap((field) => textField(part, field))
  const inner = [image, item].flatMap((value) =>
    typeof value === 'object' && value !== null ? textsOfPart({ ...value }) : [],
  )
  return [...own, ...textField(part, 'url'), ...inner]
}

/** The texts of a message of a context, with the calls that it makes. */
function textsOf({ content, tool_calls: calls = [] }: ChatMessage): RawContext {
  const said = typeof content === 'string' ? [content] : (content ?? []).flatMap((part) => textsOfPart({ ...part }))
  const called = calls.map((call) =>
    call.type === 'function'
      ? `${call.function.name} ${call.function.arguments}`
      : `${call.custom.name} ${call.custom.input}`,
  )
  return [...said, ...called]
}

const isSaid = (text: string): boolean => text !== ''

/** Where a file lies is not what it says. */
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

/** Imports into a store in memory, whose clock stands: what has no time of its own is recorded at the same one. */
class Importing {
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
    // Of the first lines of a file it may not be seen whose they are.
    const importer = found?.importer ?? importers.find((each) => each.program === program)
    if (importer === undefined) throw new Error(`there is no importer of ${program}`)
    const done = await this.record(readTranscript(path, importer, found?.layout ?? 'lines'), {
      program,
      provenance: { actor: 'test', correlationId: 'r', causationId: 'r' },
    })
    if (E.isLeft(done)) throw new Error(`${path}: ${done.left.kind}`)
    for (const { conversationId } of done.right.conversations) this.ids.add(conversationId)
  }

  /** The types and the data of all events, by their conversations. */
  async streams(): Promise<Streams> {
    const streams = new Map<string, readonly unknown[]>()
    for (const id of [...this.ids].toSorted()) {
      const events: unknown[] = []
      for await (const stored of this.harness.store.readStream(conversationStream(id))) {
        const { type, data } = await decodeEvent(stored, this.harness.log.bodies)
        events.push({ type, data: withoutFolders(data) })
      }
      streams.set(id, events)
    }
    return streams
  }
}

/** In which order files are imported: first a beginning of each, which ends at a share of its lines, then each whole. */
interface Order {
  readonly beginnings: readonly { readonly transcript: RealTranscript; readonly shares: readonly number[] }[]
  readonly wholes: readonly RealTranscript[]
}

/** One order, always the same one for a seed. */
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

describeWithTranscripts('every raw file (needs ../shared/transcripts, or CONTEXT_LEDGER_TRANSCRIPTS)', () => {
  let transcripts: readonly RealTranscript[]
  let ledger: Ledger
  let folder: string
  let imported: ReadonlyMap<RealTranscript, ImportedTranscript>
  let events: ReadonlyMap<string, readonly RecordedEvent[]>

  /** The events of a file's conversations, those that were recorded, in the order in which they begin. */
  const streamsOf = (transcript: RealTranscript): readonly (readonly [string, readonly RecordedEvent[]])[] =>
    (imported.get(transcript)?.conversations ?? []).flatMap(({ conversationId, sourceId }) => {
      const of = events.get(conversationId) ?? []
      return of.length === 0 ? [] : [[sourceId, of] as const]
    })

  async function eventsNow(): Promise<ReadonlyMap<string, readonly RecordedEvent[]>> {
    const all = new Map<string, readonly RecordedEvent[]>()
    for (const { conversations } of imported.values())
      for (const { conversationId, revision } of conversations) {
        const of: RecordedEvent[] = []
        if (revision >= 0n) for await (const event of ledger.log(conversationId)) of.push(event)
        all.set(conversationId, of)
      }
    return all
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'all-transcripts-'))
    transcripts = await realTranscripts()
    ledger = await ledgerOn(await openTestDatabase())
    const done = new Map<RealTranscript, ImportedTranscript>()
    for (const transcript of transcripts) done.set(transcript, await ledger.importTranscript(transcript.path))
    imported = done
    events = await eventsNow()
  })

  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })

  it('has the messages, calls, results, compactions, withdrawals, edits and parents that a count apart finds', async () => {
    const raw: Record<string, readonly RawCounts[]> = {}
    const recorded: Record<string, readonly RawCounts[]> = {}
    for (const transcript of transcripts) {
      const counted = (await COUNTERS[transcript.program]?.(transcript.path)) ?? []
      raw[transcript.name] = counted
      recorded[transcript.name] = streamsOf(transcript).map(([sourceId, of], at) => {
        const counts = countsOf(sourceId, of)
        return counted[at] !== undefined && counted[at].sourceId === undefined
          ? { ...counts, sourceId: undefined }
          : counts
      })
    }
    expect(recorded).toEqual(raw)
    expect(new Set(transcripts.map(({ program }) => program))).toEqual(new Set(Object.keys(COUNTERS)))
  })

  it('gives behind each compaction the context that the file says its model was given', async () => {
    const given: Record<string, readonly RawContext[]> = {}
    const shown: Record<string, readonly RawContext[]> = {}
    for (const transcript of transcripts) {
      const { name, path, program } = transcript
      const contexts = (await CONTEXTS[program]?.(path)) ?? []
      const behind: RawContext[] = []
      for (const [, of] of streamsOf(transcript))
        for (const event of of.filter((each) => isOfType(each, 'CompactionObserved')).filter(isOfFile)) {
          const prune = of.find((each) => each.type === 'MessagesPruned' && each.revision > event.revision)
          const { messages } = await ledger.context(event.stream.slice(conversationStream('').length), {
            at: prune?.revision ?? event.revision,
          })
          behind.push(messages.flatMap(textsOf).filter(isSaid))
        }
      given[name] = contexts.map((context) => context.filter(isSaid))
      shown[name] = behind
    }
    expect(shown).toEqual(given)
    expect(Object.values(given).flat().length).toBeGreaterThan(10)
  })

  it('accounts at each compaction for every message that was live: covered, kept or unknown', () => {
    for (const transcript of transcripts)
      for (const [, of] of streamsOf(transcript)) {
        const leading = new Set<string>()
        let live = new Set<string>()
        let seen = 0
        for (const event of of) {
          if (isOfType(event, 'MessageAppended')) {
            // Instructions at the head of a conversation stay live, whatever the program's context shows.
            const isLeading = leading.size === seen && ['system', 'developer'].includes(event.data.role)
            if (isLeading) leading.add(event.data.messageId)
            else live.add(event.data.messageId)
            seen += 1
          }
          if (isOfType(event, 'MessagesWithdrawn'))
            for (const { messageId } of event.data.messages) live.delete(messageId)
          if (!isOfType(event, 'CompactionObserved')) continue
          const { context, covered, unknown } = event.data
          const kept = context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
          const left = covered?.messageIds ?? []
          const accounted = [...kept.filter((id) => !leading.has(id)), ...left]
          expect(accounted.toSorted()).toEqual([...live].toSorted())
          // What is unknown left as well, as far as anybody can tell.
          expect(unknown.filter((id) => !left.includes(id))).toEqual([])
          live = new Set([...live].filter((id) => !left.includes(id)))
        }
      }
  })

  it('verifies, the rows of the read models included', async () => {
    const { ok, problems } = await ledger.verify()
    expect(problems).toEqual([])
    expect(ok).toBe(true)
  })

  it('is imported again for nothing, and is not read where it has not changed', async () => {
    for (const { path } of transcripts)
      expect(await ledger.importTranscript(path)).toMatchObject({ unchanged: true, conversations: [] })
    const copies = join(folder, 'copies')
    await cp(transcriptsFolder, copies, { recursive: true })
    for (const { name } of transcripts) {
      const { unchanged, conversations } = await ledger.importTranscript(join(copies, name))
      expect(unchanged).toBe(false)
      for (const each of conversations)
        expect(each).toMatchObject({ messages: 0, compactions: 0, withdrawn: 0, edits: 0, damaged: 0 })
    }
    expect(await eventsNow()).toEqual(events)
  })

  /** The beginnings of a file of lines, shortest first, as files of the same name. */
  async function beginningsOf({ path, name }: RealTranscript, shares: readonly number[]): Promise<readonly string[]> {
    const found = await recognizeTranscript(path)
    if (found === undefined || found.layout === 'json') return []
    const lines = (await readFile(path, 'utf8')).replace(/\n$/u, '').split('\n')
    // The last line stays out: it may be cut off, and would end here.
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
    const importing = new Importing()
    for (const { transcript, shares } of beginnings)
      for (const beginning of await beginningsOf(transcript, shares))
        await importing.import(beginning, transcript.program)
    for (const { path, program } of wholes) await importing.import(path, program)
    return await importing.streams()
  }

  async function inOrder(): Promise<Streams> {
    const importing = new Importing()
    for (const { path, program } of transcripts) await importing.import(path, program)
    return await importing.streams()
  }

  it('makes the same streams in any order, and from a beginning and the whole', async () => {
    expect(await inRandomOrder(1, 1)).toEqual(await inOrder())
  })

  longTest('makes the same streams in many orders, and from several beginnings and the whole', async () => {
    const once = await inOrder()
    for (let seed = 2; seed < 7; seed += 1) expect(await inRandomOrder(seed, 4)).toEqual(once)
  })
})
