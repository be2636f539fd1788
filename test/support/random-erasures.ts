/**
 * A ledger in a directory in which texts are erased at random, by processes that are killed (-9) at a random call of the
 * database engine. Each message has a sentence of a real conversation, unique words, and a vector. The summarizer copies
 * sentences, so summaries have erased texts too.
 */
import { deepEqual } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInput } from '../../src/domain/values/message.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { ErasureTarget } from '../../src/library/ledger-erasure.js'
import type { Ledger } from '../../src/library/ledger.js'
import { sha256 } from '../../src/domain/values/hash.js'
import { openLedger } from '../../src/library/compose.js'
import { programFile } from './child.js'
import { runCli } from './cli.js'
import { SMALL, talk } from './conversations.js'
import { encodings, ErasedPieces, filesOf } from './erased-pieces.js'
import { embeddingsAnswer, startOpenAiStub, stubVector, type OpenAiStub } from './openai-stub.js'
import { realConversations } from './real-conversations.js'

const POLICY: PolicySettings = { ...SMALL, maxSummaryTokens: 200 }
const TALKS = 3
const PERSONS = 4
const MESSAGES = 6
/** Processes in a round that erase and are killed. */
const PROCESSES = 2
/** More than the calls of the database engine in an erasure, so that some processes end before their kill. */
const CALLS = 900
const EMBEDDING_MODEL = 'stub-embedding-1'

/** Numbers from 0 to below `below`, the same for the same seed. */
type Random = (below: number) => number

function randomFrom(seed: string): Random {
  let count = 0
  return (below) => {
    count += 1
    return (
      createHash('sha256')
        .update(`${seed} ${String(count)}`)
        .digest()
        .readUInt32BE() % below
    )
  }
}

interface Known {
  readonly conversationId: string
  readonly input: MessageInput & { readonly id: string; readonly content: string }
  readonly persons: readonly string[]
  isErased: boolean
}

/** Punctuation and layout, which outputs have too. */
const NO_WORDS = /[^\p{L}\p{N}'.,-]+/gu

const SENTENCES_OF_EACH = 200

/** Sentences of real conversations. */
function sentences(): string[] {
  const found: string[] = []
  for (const { messages } of realConversations())
    for (const { content } of messages.slice(0, SENTENCES_OF_EACH))
      if (typeof content === 'string' && content.length > 60)
        found.push(content.slice(0, 200).replaceAll(NO_WORDS, ' '))
  return found
}
const SENTENCES = sentences()

/** A conversation of three rounds. No sentence has an underscore, so no piece of an erased text is in a name. */
const talkName = (at: number, round: number): string => `talk_${String(at)}_${String(Math.ceil(round / 3))}`

const uniqueText = (name: string): string => createHash('sha256').update(name).digest('base64url')

const openWorld = (folder: string, { baseUrl }: OpenAiStub): Promise<Ledger> =>
  openLedger({
    store: join(folder, 'store'),
    keys: join(folder, 'keys'),
    erasable: true,
    policy: POLICY,
    embedding: { model: EMBEDDING_MODEL, baseUrl, apiKey: 'test' },
    onProblem: (problem) => {
      throw problem instanceof Error ? problem : new Error(JSON.stringify(problem))
    },
  })

/** What files have of a vector: its numbers, and the hash of its text. */
const vectorBytes = (text: string): readonly Buffer[] => [
  Buffer.from(Float32Array.from(stubVector(text)).buffer),
  Buffer.from(sha256(text)),
]

/** All answers of the ledger, as text. */
async function everythingOf(ledger: Ledger): Promise<string> {
  const parts: unknown[] = [await ledger.admin.stats(), await ledger.forgotten(), await ledger.editions.list()]
  for (const { conversationId, ...listed } of (await ledger.list()).conversations) {
    parts.push(listed, await ledger.context(conversationId), await ledger.explain(conversationId))
    for await (const event of ledger.log(conversationId)) parts.push(event)
  }
  return JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Numbers of what happened, for the report. */
export interface Figures {
  erasures: number
  /** Conversations and persons among them. */
  conversations: number
  persons: number
  kills: number
  /** Erasures that `resume` completed in the process of the test. */
  resumed: number
  /** Lists of messages that were imported again. */
  imports: number
  rebuilds: number
  editions: number
  /** Bytes of files and outputs that were searched. */
  searchedBytes: number
  /** Pieces of erased texts that were searched, at the end. */
  pieces: number
}

export class RandomErasures {
  private readonly messages: Known[] = []
  private readonly erasedConversations = new Set<string>()
  private readonly outputs: string[] = []
  private readonly pieces = new ErasedPieces()
  private readonly searched = new Set<Known>()
  private round = 0
  private ledger: Ledger | undefined
  readonly figures: Figures = {
    erasures: 0,
    conversations: 0,
    persons: 0,
    kills: 0,
    resumed: 0,
    imports: 0,
    rebuilds: 0,
    editions: 0,
    searchedBytes: 0,
    pieces: 0,
  }

  private constructor(
    private readonly folder: string,
    private readonly seed: string,
    private readonly random: Random,
    private readonly baseline: readonly Buffer[],
    private readonly embeddings: OpenAiStub,
  ) {}

  /** Creates the directory. Pieces in its first files, or in the program, identify no erased text. */
  static async create(seed: string): Promise<RandomErasures> {
    const folder = await mkdtemp(join(tmpdir(), 'random-erasures-'))
    const embeddings = await startOpenAiStub(embeddingsAnswer)
    const ledger = await openWorld(folder, embeddings)
    await ledger.append('neutral', talk(40))
    await ledger.compact('neutral')
    const text = await everythingOf(ledger)
    await ledger.close()
    const program = (await filesOf(join('dist', 'src'))).filter((file) => file.endsWith('.js'))
    const files = [...(await filesOf(folder)), ...program]
    const baseline = [Buffer.from(text), ...(await Promise.all(files.map((file) => readFile(file))))]
    return new RandomErasures(folder, seed, randomFrom(seed), baseline, embeddings)
  }

  private get store(): readonly string[] {
    return ['--store', join(this.folder, 'store'), '--resident', 'off']
  }

  async remove(): Promise<void> {
    await this.ledger?.close()
    await this.embeddings.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Appends, erases with a kill, continues, and checks. */
  async runRound(erasures: number): Promise<void> {
    this.round += 1
    await this.grow()
    const targets = Array.from({ length: erasures }, () => this.choose()).filter((target) => target !== undefined)
    await this.closed()
    // The search finds texts that are not erased yet.
    if (this.round === 1) deepEqual(await this.searchFiles().catch(() => 'found'), 'found')
    const each = Math.ceil(targets.length / PROCESSES)
    for (let from = 0; from < targets.length; from += each)
      await this.eraseUntilKilled(targets.slice(from, from + each).map(({ target }) => target))
    const ledger = await this.opened()
    this.figures.resumed += (await ledger.admin.erasure.resume()).length
    for (const { target, messages } of targets) {
      if (await this.hasText(messages)) await ledger.admin.erasure.run(target, { reason: 'request' })
      this.figures.erasures += 1
    }
    await this.afterwards()
    await this.check()
  }

  private async opened(): Promise<Ledger> {
    this.ledger ??= await openWorld(this.folder, this.embeddings)
    return this.ledger
  }

  private async closed(): Promise<void> {
    await this.ledger?.close()
    this.ledger = undefined
  }

  private liveOf(conversationId: string): Known[] {
    return this.messages.filter((message) => message.conversationId === conversationId && !message.isErased)
  }

  /** Each round has persons of its own: nothing is recorded about an erased person. */
  private async grow(): Promise<void> {
    const ledger = await this.opened()
    for (let at = 0; at < TALKS; at += 1) {
      const conversationId = talkName(at, this.round)
      if (this.erasedConversations.has(conversationId)) continue
      const added = Array.from({ length: MESSAGES }, () => this.message(conversationId))
      await ledger.append(
        conversationId,
        added.map(({ input }) => input),
      )
      await ledger.compact(conversationId)
      if (this.random(3) === 0) await this.replay(conversationId)
    }
    await ledger.admin.projections.fillVectors()
  }

  private message(conversationId: string): Known {
    const number = this.messages.length
    const persons = Array.from(
      { length: PERSONS },
      (_none, who) => `person${String(who)}@${String(this.round)}.example`,
    )
    const about = persons.filter(() => this.random(4) === 0).slice(0, 2)
    const sentence = SENTENCES[this.random(SENTENCES.length)] ?? ''
    const name = `${this.seed} ${String(number)}`
    const message: Known = {
      conversationId,
      input: {
        id: `m${String(number)}`,
        role: number % 2 === 0 ? 'user' : 'assistant',
        content: `${uniqueText(`${name} a`)} ${sentence} ${uniqueText(`${name} b`)}`,
        created_at: new Date(Date.UTC(2026, 0, 1) + number * 61_000).toISOString(),
        ...(about.length === 0 ? {} : { subjects: about }),
      },
      persons: about,
      isErased: false,
    }
    this.messages.push(message)
    return message
  }

  /** Chooses what to erase next, and marks its messages. */
  private choose(): { readonly target: ErasureTarget; readonly messages: readonly Known[] } | undefined {
    const live = this.messages.filter(({ isErased }) => !isErased)
    const message = live[this.random(Math.max(1, live.length))]
    if (message === undefined) return undefined
    const { conversationId, persons, input } = message
    const kind = this.random(10)
    const [person] = persons
    const isWhole = kind === 9 && live.length > 30
    const isPerson = kind >= 5 && person !== undefined
    const messages = isWhole
      ? this.liveOf(conversationId)
      : isPerson
        ? live.filter((each) => each.persons.includes(person))
        : [message]
    for (const each of messages) each.isErased = true
    if (isWhole) this.erasedConversations.add(conversationId)
    if (isWhole) this.figures.conversations += 1
    else if (isPerson) this.figures.persons += 1
    const target = isWhole
      ? { conversationId }
      : isPerson
        ? { subject: person }
        : { conversationId, messageId: input.id }
    return { target, messages }
  }

  private async eraseUntilKilled(targets: readonly ErasureTarget[]): Promise<void> {
    const step = `call:${String(1 + this.random(CALLS * targets.length))}`
    const places = [join(this.folder, 'store'), join(this.folder, 'keys')]
    const words = [programFile('erase-until-killed'), ...places, step, JSON.stringify(targets)]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        output += String(part)
      })
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.once('close', (...ended) => {
        resolve(ended)
      })
    })
    if (signal === 'SIGKILL') this.figures.kills += 1
    else deepEqual([code, output], [0, ''])
    this.outputs.push(output)
  }

  private async hasText(messages: readonly Known[]): Promise<boolean> {
    const recorded = await this.recorded()
    return messages.some(({ input }) => recorded.get(input.id)?.isErased === false)
  }

  /** The messages of all conversations, as recorded. */
  private async recorded(): Promise<Map<string, { readonly content: unknown; readonly isErased: boolean }>> {
    const ledger = await this.opened()
    const found = new Map<string, { readonly content: unknown; readonly isErased: boolean }>()
    for (const conversationId of new Set(this.messages.map((message) => message.conversationId)))
      for await (const { type, data } of ledger.log(conversationId))
        if (type === 'MessageAppended')
          found.set(data.messageId, { content: data.content, isErased: data.erased === true })
    return found
  }

  private async replay(conversationId: string): Promise<void> {
    const { editions } = await this.opened()
    const policy = { ...POLICY, chunkSize: 2 + this.random(3) }
    this.figures.editions += 1
    const { editionId } = await editions.replay({ conversations: [conversationId], policy })
    if (this.random(2) === 0) await editions.adopt(conversationId, editionId, { policy })
  }

  /** What could bring texts back. */
  private async afterwards(): Promise<void> {
    const ledger = await this.opened()
    const conversationId = talkName(this.random(TALKS), this.round)
    const isErased = this.erasedConversations.has(conversationId)
    if (this.random(2) === 0) await this.importAgain(conversationId)
    if (this.random(3) === 0) {
      await ledger.admin.projections.rebuild('all')
      this.figures.rebuilds += 1
    }
    if (!isErased && this.random(2) === 0) await this.replay(conversationId)
    const message = this.liveOf(conversationId)[0]
    if (message === undefined || this.random(2) !== 0) return
    message.isErased = true
    const words = ['erase', '--conversation', conversationId, '--message', message.input.id]
    await this.cli([...words, ...this.store, '--reason', 'request', '--yes', '--resummarize'])
    this.figures.erasures += 1
  }

  /** Imports the same list again: in its conversation, and without ids in another one, which is erased afterwards. */
  private async importAgain(conversationId: string): Promise<void> {
    const ledger = await this.opened()
    this.figures.imports += 1
    const inputs = this.messages
      .filter((message) => message.conversationId === conversationId)
      .map(({ input: { subjects: _subjects, ...input } }) => input)
    if (!this.erasedConversations.has(conversationId)) await ledger.append(conversationId, inputs)
    const copy = `copy_${String(this.round)}`
    await ledger.append(
      copy,
      inputs.map(({ id: _id, ...input }) => input),
    )
    this.searchOfErased()(Buffer.from(JSON.stringify(await ledger.context(copy))), 'the imported copy')
    // Otherwise a later erasure would leave the same texts in the copy, which it does not name.
    await ledger.admin.erasure.run({ conversationId: copy }, { reason: 'a copy' })
    this.figures.erasures += 1
  }

  /** Runs a command on the closed store; its output is searched later. */
  private async cli(words: readonly string[]): Promise<void> {
    await this.closed()
    const { status, stdout, stderr } = await runCli([...words, '--keys', join(this.folder, 'keys')], {
      cwd: this.folder,
    })
    deepEqual([words.join(' '), status, status === 0 ? '' : stderr], [words.join(' '), 0, ''])
    this.outputs.push(stdout, stderr)
  }

  /** Erased messages whose texts have not been searched. */
  private newlyErased(): Known[] {
    return this.messages.filter((message) => message.isErased && !this.searched.has(message))
  }

  /** A search for the texts of all messages that are erased by now. */
  private searchOfErased(): (bytes: Buffer, where: string) => void {
    for (const message of this.newlyErased()) {
      this.searched.add(message)
      this.pieces.add(message.input.content)
    }
    this.figures.pieces = this.pieces.size
    const remaining = this.messages.flatMap(({ isErased, input }) => (isErased ? [] : encodings(input.content)))
    const has = (text: string) => [...remaining, ...this.baseline].some((bytes) => bytes.includes(text, 0, 'latin1'))
    const known = new Map<string, boolean>()
    // Postgres compresses long rows and puts a tag after 8 bytes or less, which may look like the next character.
    const isElsewhere = (piece: string): boolean => {
      const result = known.get(piece) ?? (has(piece.slice(1)) || has(piece.slice(0, -1)))
      known.set(piece, result)
      return result
    }
    return (bytes, where) => {
      this.figures.searchedBytes += bytes.length
      deepEqual(this.pieces.findIn(bytes, where, isElsewhere), [])
    }
  }

  /** The conditions after each round. */
  private async check(): Promise<void> {
    const ledger = await this.opened()
    const verified = await ledger.admin.verify()
    deepEqual([verified.problems, verified.observations], [[], []])
    const recorded = await this.recorded()
    for (const { input, isErased } of this.messages)
      deepEqual(
        [input.id, recorded.get(input.id)],
        [input.id, { content: isErased ? '[erased]' : input.content, isErased }],
      )
    await this.checkReceipts()
    this.outputs.push(await everythingOf(ledger))
    await this.closed()
    await this.searchFiles()
  }

  private async searchFiles(): Promise<void> {
    const vectors = this.newlyErased().flatMap(({ input }) => vectorBytes(input.content))
    const search = this.searchOfErased()
    for (const output of this.outputs.splice(0)) search(Buffer.from(output), 'an output')
    for (const file of await filesOf(this.folder)) {
      const bytes = await readFile(file)
      search(bytes, file)
      deepEqual([file, vectors.filter((vector) => bytes.includes(vector)).length], [file, 0])
    }
  }

  /** Each erasure has one request and one receipt in each of its conversations. */
  private async checkReceipts(): Promise<void> {
    const ledger = await this.opened()
    for (const { conversationId } of (await ledger.list()).conversations) {
      const requested: string[] = []
      const completed: string[] = []
      for await (const { type, data } of ledger.log(conversationId)) {
        if (type === 'ErasureRequested') requested.push(data.erasureId)
        if (type === 'ErasureCompleted') completed.push(data.erasureId)
      }
      deepEqual(completed.toSorted(), [...new Set(requested)].toSorted())
      deepEqual(new Set(requested).size, requested.length)
    }
    deepEqual(await ledger.admin.erasure.resume(), [])
  }

  /** Dump, exports and commands: neither their files nor their outputs have an erased text. */
  async checkExports(): Promise<void> {
    for (const format of ['cloudevents', 'otel', 'ocsf'])
      await this.cli(['export', '--format', format, '--content', ...this.store])
    await this.cli(['search', 'the', '--json', ...this.store])
    await this.cli(['forgotten', '--all', ...this.store])
    await this.cli(['migrate-log', '--from', join(this.folder, 'store'), '--to', join(this.folder, 'dump')])
    await this.check()
  }
}
