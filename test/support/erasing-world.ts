/**
 * A ledger whose conversations are erased at random, for the law of erasures. Every word of a message is unique, so a
 * piece of eight bytes identifies its message, also in a summary: the summarizer copies the beginning of each message
 * and of its background.
 */
import fc from 'fast-check'
import { deepEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Ledger } from '../../src/library/ledger.js'
import { openLedger } from '../../src/library/compose.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'
import type { ChatMessage } from '../../src/domain/values/chat-message.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import { hashOf, sha256 } from '../../src/domain/values/hash.js'
import { toChatMessage } from '../../src/domain/values/message.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { SMALL } from './conversations.js'

const BYTES = 8
const PERSONS = ['anna@example.org', 'bert@example.org', 'cleo@example.org'] as const
const COPIED_CHARACTERS = 30

/** A step of a history. Numbers choose among what exists. */
export type ErasingStep =
  | { readonly kind: 'append'; readonly to: number; readonly count: number; readonly persons: number }
  | { readonly kind: 'compact' | 'replay' | 'adopt' | 'revert' | 'undo' | 'import-again'; readonly of: number }
  | { readonly kind: 'rebuild' }
  | { readonly kind: 'erase-message'; readonly of: number; readonly at: number }
  | { readonly kind: 'erase-person'; readonly who: number }
  | { readonly kind: 'erase-conversation'; readonly of: number }

const of = fc.nat(1)
const appends = fc.record({
  kind: fc.constant('append' as const),
  to: of,
  count: fc.integer({ min: 2, max: 8 }),
  persons: fc.nat(99),
})
const erasures: fc.Arbitrary<ErasingStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('erase-message' as const), of, at: fc.nat(40) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('erase-person' as const), who: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase-conversation' as const), of }) },
)
const otherSteps: fc.Arbitrary<ErasingStep> = fc.oneof(
  { weight: 4, arbitrary: appends },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('compact' as const), of }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('replay' as const, 'adopt' as const, 'revert' as const, 'undo' as const),
      of,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('import-again' as const), of }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'rebuild' as const }) },
)

/** Histories that begin with a compacted conversation and have this number of erasures. */
export const erasingHistories = (erased: number): fc.Arbitrary<ErasingStep[]> =>
  fc
    .array(fc.tuple(fc.array(otherSteps, { minLength: 1, maxLength: 4 }), erasures), {
      minLength: erased,
      maxLength: erased,
    })
    .map((rounds) => [
      { kind: 'append', to: 0, count: 8, persons: 12 },
      { kind: 'compact', of: 0 },
      ...rounds.flatMap(([before, erasure]) => [...before, erasure]),
    ])

const uniqueWords = (name: string, count: number): string =>
  Array.from({ length: count }, (_none, at) =>
    createHash('sha256')
      .update(`${name} ${String(at)}`)
      .digest('base64url')
      .slice(0, 20),
  ).join(' ')

/** Pieces of eight bytes of a text, as it is in JSON. */
const shinglesOf = (text: string): string[] => {
  const inJson = JSON.stringify(text).slice(1, -1)
  return Array.from({ length: Math.max(0, inJson.length - BYTES + 1) }, (_none, at) => inJson.slice(at, at + BYTES))
}

/** Names and numbers of a text with pieces that only this message has. Ordinary words are in sentences of the ledger. */
const uniqueNames = (text: string, counts: ReadonlyMap<string, number>): string[] =>
  (text.match(/[\w./-]{12,}/gu) ?? []).filter(
    (word) => !/^[a-z]+$/u.test(word) && shinglesOf(word).every((piece) => counts.get(piece) === 1),
  )

const beginningOf = ({ content, tool_calls: calls }: ChatMessage): string =>
  [typeof content === 'string' ? content : '', calls?.[0]?.function?.arguments ?? '']
    .join(' ')
    .trim()
    .slice(0, COPIED_CHARACTERS)

/** Copies the beginning of its background and of each message. */
function createCopyingSummarizer(): Summarizer {
  const events = { strategy: 'copying', provider: 'none', model: 'copying' }
  const text = 'copy the beginning'
  return {
    ...events,
    windowTokens: 100_000,
    prepare(job) {
      const parts =
        job.kind === 'chunk'
          ? [(job.existingSummary ?? '').slice(-COPIED_CHARACTERS), ...job.messages.map(toChatMessage).map(beginningOf)]
          : job.summaries.map((summary) => summary.text.slice(0, COPIED_CHARACTERS))
      const parameters = { maxSummaryTokens: job.maxSummaryTokens }
      return {
        job,
        ...events,
        parameters,
        prompt: { name: 'copying', sha256: sha256(text), text },
        formatterVersion: 1,
        requestHash: hashOf({ ...events, parameters, parts }),
        request: parts,
      }
    },
    summarize: ({ request }) => Promise.resolve({ text: JSON.stringify(request), durationMs: 1 }),
  }
}

interface WorldMessage {
  readonly input: MessageInput & { readonly id: string }
  readonly texts: readonly string[]
  readonly persons: readonly string[]
  isErased: boolean
}

export interface WorldOptions {
  readonly store: string
  /** Of a log in KurrentDB. */
  readonly database?: string
  readonly keys?: string
  /** A summarizer that is a function has no background. */
  readonly isFunction?: boolean
}

/** Copies the beginning of each message. */
const copyBeginnings = (messages: readonly ChatMessage[]): Promise<string> =>
  Promise.resolve(messages.map(beginningOf).join(' / '))

const openWorldLedger = ({ store, database, keys, isFunction = false }: WorldOptions): Promise<Ledger> =>
  openLedger({
    store,
    ...(database === undefined ? {} : { database }),
    ...(keys === undefined ? {} : { keys }),
    erasable: true,
    policy: { ...SMALL, maxSummaryTokens: 400 },
    summarizer: isFunction ? copyBeginnings : createCopyingSummarizer(),
    onProblem: (problem) => {
      throw problem instanceof Error ? problem : new Error(JSON.stringify(problem))
    },
  })

/** Kinds of errors of steps that have nothing to do, or that an erased conversation rejects. */
const EXPECTED_KINDS = new Set([
  'ConversationErased',
  'CycleOfEdition',
  'EditionInForce',
  'EditionOfAnother',
  'NoEditionInForce',
  'NoSuchConversation',
  'NoSuchCycle',
  'UndoPassesHardLimit',
])

export class ErasingWorld {
  private readonly conversations = new Map<string, WorldMessage[]>()
  private readonly erasedPersons = new Set<string>()
  private readonly erasedConversations = new Set<string>()
  private readonly editions = new Map<string, string>()
  private imports = 0
  /** Kinds of rejections that steps met. */
  readonly rejections = new Map<string, number>()
  erasures = 0

  private constructor(
    public ledger: Ledger,
    private readonly options: WorldOptions,
  ) {}

  static async open(options: WorldOptions): Promise<ErasingWorld> {
    return new ErasingWorld(await openWorldLedger(options), options)
  }

  async reopen(): Promise<void> {
    await this.ledger.close()
    this.ledger = await openWorldLedger(this.options)
  }

  close(): Promise<void> {
    return this.ledger.close()
  }

  /** The texts of erased messages. */
  erasedTexts(): string[] {
    return [...this.conversations.values()].flatMap((messages) =>
      messages.flatMap(({ isErased, texts }) => (isErased ? texts : [])),
    )
  }

  /** Records a conversation that was not made for this test. Names in it that several messages have identify none. */
  async add(conversationId: string, inputs: readonly (MessageInput & { readonly id: string })[]): Promise<void> {
    await this.ledger.append(conversationId, inputs)
    const counts = new Map<string, number>()
    const pieces = inputs.map((input) => new Set(shinglesOf(JSON.stringify(input).replaceAll('\\', ''))))
    for (const each of pieces) for (const piece of each) counts.set(piece, (counts.get(piece) ?? 0) + 1)
    this.conversations.set(
      conversationId,
      inputs.map((input) => ({
        input,
        texts: typeof input.content === 'string' ? uniqueNames(input.content, counts) : [],
        persons: [],
        isErased: false,
      })),
    )
  }

  /** Notes that another process erases a message, which is killed meanwhile. */
  noteErased(conversationId: string, at: number): string {
    const message = this.conversations.get(conversationId)?.[at]
    if (message === undefined) throw new Error(`${conversationId} has no message ${String(at)}`)
    message.isErased = true
    return message.input.id
  }

  async step(step: ErasingStep): Promise<void> {
    try {
      await this.run(step)
    } catch (error) {
      if (step.kind.startsWith('erase') || !isLedgerError(error) || !EXPECTED_KINDS.has(error.kind)) throw error
      this.rejections.set(error.kind, (this.rejections.get(error.kind) ?? 0) + 1)
    }
  }

  private async run(step: ErasingStep): Promise<void> {
    const { ledger } = this
    if (step.kind === 'append') return this.append(`talk${String(step.to)}`, step.count, step.persons)
    if (step.kind === 'rebuild') return ledger.admin.projections.rebuild('all')
    if (step.kind === 'erase-person') return this.erasePerson(PERSONS[step.who] ?? PERSONS[0])
    const conversationId = `talk${String(step.of)}`
    switch (step.kind) {
      case 'compact':
        await ledger.compact(conversationId)
        return
      case 'replay': {
        const { editionId } = await ledger.editions.replay({
          conversations: [conversationId],
          policy: { ...SMALL, maxSummaryTokens: 400, chunkSize: 2 + (this.editions.size % 4) },
        })
        this.editions.set(editionId, conversationId)
        return
      }
      case 'adopt': {
        const edition = [...this.editions].findLast(([, id]) => id === conversationId)?.[0]
        if (edition !== undefined) await ledger.editions.adopt(conversationId, edition)
        return
      }
      case 'revert':
        await ledger.editions.revert(conversationId)
        return
      case 'undo':
        await ledger.editions.undo(conversationId, { cycle: 1 })
        return
      case 'import-again':
        return this.importAgain(conversationId)
      case 'erase-message':
        return this.eraseMessage(conversationId, step.at)
      case 'erase-conversation':
        return this.eraseConversation(conversationId)
    }
  }

  private async append(conversationId: string, count: number, persons: number): Promise<void> {
    const known = this.conversations.get(conversationId) ?? []
    const added = Array.from({ length: count }, (_none, index): WorldMessage => {
      const at = known.length + index
      const about = PERSONS.filter(
        (person, which) => !this.erasedPersons.has(person) && ((persons + at) >> which) % 4 === 1,
      )
      return this.message(conversationId, at, about)
    })
    await this.ledger.append(
      conversationId,
      added.map(({ input }) => input),
    )
    this.conversations.set(conversationId, [...known, ...added])
  }

  private message(conversationId: string, at: number, persons: readonly string[]): WorldMessage {
    const words = uniqueWords(`${conversationId} ${String(at)}`, 8)
    const input = {
      id: `${conversationId}-m${String(at)}`,
      role: at % 2 === 0 && at % 7 !== 5 ? ('user' as const) : ('assistant' as const),
      created_at: new Date(Date.UTC(2026, 0, 1) + at * 60_000).toISOString(),
      ...(persons.length === 0 ? {} : { subjects: [...persons] }),
    }
    // Every seventh message makes a call that gets no result.
    return at % 7 === 5
      ? {
          input: {
            ...input,
            content: null,
            tool_calls: [
              {
                id: `call-${conversationId}-${String(at)}`,
                type: 'function',
                function: { name: 'run', arguments: JSON.stringify({ text: words }) },
              },
            ],
          },
          texts: [words],
          persons,
          isErased: false,
        }
      : { input: { ...input, content: words }, texts: [words], persons, isErased: false }
  }

  /** Imports the transcript again: into the same conversation, and into another one, without ids. */
  private async importAgain(conversationId: string): Promise<void> {
    const messages = this.conversations.get(conversationId) ?? []
    if (messages.length === 0) return
    const inputs = messages.map(({ input }) => input)
    if (!this.erasedConversations.has(conversationId))
      await this.ledger.append(conversationId, this.withLivePersons(inputs))
    this.imports += 1
    const copy = `copy${String(this.imports)}`
    await this.ledger.append(
      copy,
      inputs.map(({ id: _id, subjects: _subjects, ...input }) => input),
    )
    const erased = new Set(this.erasedTexts().flatMap(shinglesOf))
    deepEqual(remainsIn(JSON.stringify(await this.ledger.context(copy)), erased), [])
    // Otherwise a later erasure would leave the same texts in the copy, which it does not name.
    await this.ledger.admin.erasure.run({ conversationId: copy }, { reason: 'a copy' })
  }

  private withLivePersons(inputs: readonly MessageInput[]): MessageInput[] {
    return inputs.map(({ subjects, ...input }) => {
      const live = subjects?.filter((person) => !this.erasedPersons.has(person)) ?? []
      return live.length === 0 ? input : { ...input, subjects: live }
    })
  }

  private async eraseMessage(conversationId: string, at: number): Promise<void> {
    const messages = this.conversations.get(conversationId) ?? []
    const message = messages[at % Math.max(1, messages.length)]
    if (message === undefined || this.erasedConversations.has(conversationId)) return
    message.isErased = true
    await this.erase({ conversationId, messageId: message.input.id })
  }

  private async erasePerson(person: string): Promise<void> {
    for (const messages of this.conversations.values())
      for (const message of messages) if (message.persons.includes(person)) message.isErased = true
    this.erasedPersons.add(person)
    await this.erase({ subject: person })
  }

  private async eraseConversation(conversationId: string): Promise<void> {
    if (!this.conversations.has(conversationId)) return
    for (const message of this.conversations.get(conversationId) ?? []) message.isErased = true
    this.erasedConversations.add(conversationId)
    await this.erase({ conversationId })
  }

  private async erase(target: Parameters<Ledger['admin']['erasure']['run']>[0]): Promise<void> {
    const before = await this.derivedTexts()
    await this.ledger.admin.erasure.run(target, { reason: 'request' })
    this.erasures += 1
    await this.check(before)
  }

  /** All answers of the ledger, as text. */
  async everything(): Promise<string> {
    const { ledger } = this
    const parts: unknown[] = [await ledger.admin.stats(), await ledger.forgotten(), await ledger.editions.list()]
    for (const { conversationId, ...listed } of (await ledger.list()).conversations) {
      parts.push(
        listed,
        await ledger.context(conversationId),
        await ledger.messages(conversationId),
        await ledger.explain(conversationId),
      )
      for await (const event of ledger.log(conversationId)) parts.push(event)
    }
    return JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
  }

  /** Summaries by their event, with their texts. */
  private async derivedTexts(): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for (const { conversationId } of (await this.ledger.list()).conversations)
      for await (const { type, data, revision } of this.ledger.log(conversationId)) {
        const text = type === 'ChunkSummarized' ? data.summary : type === 'BatchArchived' ? data.content : undefined
        if (text !== undefined) found.set(`${conversationId} ${String(revision)}`, text)
      }
    return found
  }

  /** The conditions after each erasure. */
  async check(before?: ReadonlyMap<string, string>): Promise<void> {
    const verified = await this.ledger.admin.verify()
    deepEqual([verified.problems, verified.observations], [[], []])
    const erasedTexts = this.erasedTexts()
    const erased = new Set(erasedTexts.flatMap(shinglesOf))
    deepEqual(remainsIn(await this.everything(), erased), [])
    for (const text of erasedTexts.slice(-2)) {
      const [word = ''] = text.split(' ')
      const { hits } = await this.ledger.search(word, {})
      deepEqual(remainsIn(JSON.stringify(hits), erased), [])
    }
    await this.checkKept()
    if (before !== undefined && this.options.isFunction === true) await this.checkSummaries(before, erased)
  }

  /** Messages that no erasure names are unchanged. */
  private async checkKept(): Promise<void> {
    for (const [conversationId, messages] of this.conversations) {
      const recorded = new Map<string, readonly unknown[]>()
      for await (const event of this.ledger.log(conversationId))
        if (event.type === 'MessageAppended')
          recorded.set(event.data.messageId, [event.data.content, event.data.toolCalls, event.data.erased])
      for (const { input, isErased } of messages) {
        const [content, calls, mark] = recorded.get(input.id) ?? []
        deepEqual([input.id, mark], [input.id, isErased ? true : undefined])
        if (!isErased) deepEqual([content, calls], [input.content, input.tool_calls])
      }
    }
  }

  /** A summary without a background is derived from its messages alone, so all others are unchanged. */
  private async checkSummaries(before: ReadonlyMap<string, string>, erased: ReadonlySet<string>): Promise<void> {
    const after = await this.derivedTexts()
    for (const [place, text] of before)
      if (remainsIn(JSON.stringify(text), erased).length === 0) deepEqual([place, after.get(place)], [place, text])
  }
}

/** The first pieces of erased texts in a text. */
function remainsIn(text: string, erased: ReadonlySet<string>): string[] {
  const found: string[] = []
  for (let at = 0; at + BYTES <= text.length && found.length < 3; at += 1)
    if (erased.has(text.slice(at, at + BYTES))) found.push(text.slice(Math.max(0, at - 80), at + 40))
  return found
}
