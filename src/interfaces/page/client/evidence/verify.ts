/**
 * Verifies the evidence of the file, step by step, with only the file and the cryptography of the browser. It
 * shares no code with the program that wrote the file.
 */
import { fromBase64, fromHex, hexOf, sha256, utf8, type Bytes } from './bytes.js'
import { isIncluded, leafOf, readNote, verifySignatures, type Note } from './checkpoint.js'
import {
  fieldsOf,
  isFields,
  listOf,
  readClaims,
  textOf,
  textsOf,
  type Claims,
  type Fields,
  type Place,
  type SummaryClaim,
} from './read.js'
import { many } from './words.js'

/** The result of a step. `open`: nothing is wrong, and it is not proven. */
export interface Step {
  readonly name: string
  readonly state: 'ok' | 'failed' | 'open'
  readonly sentence: string
}

/** An event, with the hash computed from its text. */
export interface ReadEvent {
  readonly stream: string
  readonly revision: string
  readonly type: string
  readonly actor: string
  readonly recordedAt: string
  readonly previousHash: string
  readonly hash: string
  readonly leaf: number
  readonly data: Fields
}

/** A summary with its events. */
export interface ReadSummary {
  readonly batchId: string
  /** The text of the summary, with its header line. */
  readonly text: string
  /** The messages that it replaces; empty if it merges summaries. */
  readonly messages: readonly ReadEvent[]
  /** Strategy, model and prompt; undefined if another program wrote it. */
  readonly summarizer: Fields | undefined
  readonly event: ReadEvent
  readonly sources: readonly ReadSummary[]
}

/** A prompt that summaries were made with. */
export interface ReadPrompt {
  readonly name: string
  readonly sha256: string
  readonly text: string
}

/** Everything that is shown, and the result of each step. */
export interface Verified {
  readonly steps: readonly Step[]
  readonly claims: Claims
  readonly note: Note
  readonly fingerprints: readonly string[]
  readonly events: readonly ReadEvent[]
  readonly messages: readonly Fields[]
  readonly summaries: readonly ReadSummary[]
  readonly prompts: readonly ReadPrompt[]
  /** The answer to the context, if there is one. */
  readonly answer: ReadEvent | undefined
}

const FIRST_HASH = '0'.repeat(64)
const keyOf = ({ stream, revision }: Place): string => `${revision} ${stream}`
function check(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Error(sentence)
}

/** Sorted keys at every level, so that two values with the same content have the same text. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : isFields(value)
      ? Object.fromEntries(
          Object.keys(value)
            .toSorted()
            .map((key) => [key, sorted(value[key])]),
        )
      : value
const same = (left: unknown, right: unknown): boolean => JSON.stringify(sorted(left)) === JSON.stringify(sorted(right))

class Verifier {
  private readonly steps: Step[] = []
  private readonly note: Note
  private events: ReadEvent[] = []
  private readonly byPlace = new Map<string, ReadEvent>()
  private readonly messagesById = new Map<string, ReadEvent>()
  private readonly ownStream: string

  constructor(private readonly claims: Claims) {
    this.note = readNote(claims.note)
    this.ownStream = `conversation-${claims.conversationId}`
  }

  private async step(name: string, work: () => Promise<string | { readonly open: string }>): Promise<void> {
    try {
      const result = await work()
      this.steps.push(
        typeof result === 'string'
          ? { name, state: 'ok', sentence: result }
          : { name, state: 'open', sentence: result.open },
      )
    } catch (error) {
      this.steps.push({ name, state: 'failed', sentence: error instanceof Error ? error.message : String(error) })
    }
  }

  private eventAt(place: Place): ReadEvent {
    const event = this.byPlace.get(keyOf(place))
    check(event !== undefined, `the event ${place.revision} of ${place.stream} is not in this file`)
    return event
  }

  /** Computes the hash of each event from its text, and reads it. */
  private async readEvents(): Promise<void> {
    for (const { leaf, record, body } of this.claims.events) {
      const hash = hexOf(await sha256(utf8(record)))
      const list = listOf(JSON.parse(record), 'record')
      const [previousHash, stream, revision, , type, , , , actor, recordedAt, data] = list.map(String)
      const stored = fieldsOf(JSON.parse(data ?? ''), 'data')
      const claim = isFields(stored['claimCheck']) ? stored['claimCheck'] : undefined
      if (claim === undefined) check(body === undefined, 'an event has a text that its record does not name')
      else {
        check(body !== undefined, `the text of event ${String(leaf)} is missing`)
        check(hexOf(await sha256(utf8(body))) === claim['sha256'], `the text of event ${String(leaf)} was changed`)
      }
      const event: ReadEvent = {
        stream: stream ?? '',
        revision: revision ?? '',
        type: type ?? '',
        actor: actor ?? '',
        recordedAt: recordedAt ?? '',
        previousHash: previousHash ?? '',
        hash,
        leaf,
        data: body === undefined ? stored : fieldsOf(JSON.parse(body), 'body'),
      }
      this.events.push(event)
      check(!this.byPlace.has(keyOf(event)), 'an event is in this file twice')
      this.byPlace.set(keyOf(event), event)
      if (event.stream === this.ownStream && event.type === 'MessageAppended')
        this.messagesById.set(textOf(event.data['messageId'], 'messageId'), event)
    }
  }

  private async signature(): Promise<{ readonly fingerprints: readonly string[] }> {
    let fingerprints: readonly string[] = []
    await this.step('Signature', async () => {
      const signed = await verifySignatures(this.note, this.claims.verifierKeys)
      fingerprints = signed.fingerprints
      const unverified =
        signed.others.length === 0 ? '' : ` Signatures of ${signed.others.join(', ')} were not verified.`
      if (!signed.isChecked)
        return {
          open: `This browser cannot verify Ed25519 signatures (Chrome 137, Firefox 129 and Safari 17 can). The steps below compare the file with the checkpoint, but nobody is known to have signed it.${unverified}`,
        }
      return `The checkpoint of the log (${many(this.note.size, 'event')}) is signed by the key in “Your part”.${unverified}`
    })
    return { fingerprints }
  }

  private async inclusion(): Promise<void> {
    await this.step('In the log', async () => {
      const nodes: readonly Bytes[] = this.claims.nodes.map(fromBase64)
      const used = new Set<number>()
      for (const [at, { leaf, proof }] of this.claims.events.entries()) {
        const siblings = proof.map((index) => {
          used.add(index)
          const node = nodes[index]
          check(node?.length === 32, 'a hash of a proof is missing')
          return node
        })
        const hash = fromHex(this.events[at]?.hash ?? '')
        check(
          await isIncluded(await leafOf(hash), leaf, siblings, this.note),
          `event ${String(leaf)} is not in the log that was signed: it, or its proof, was changed`,
        )
      }
      check(used.size === nodes.length, 'the file has hashes that no proof uses')
      return `Each of the ${many(this.events.length, 'event')} in this file is in that log, unchanged, at the place that the file names.`
    })
  }

  private async chain(): Promise<void> {
    await this.step('Nothing left out', async () => {
      const ofStream = this.events.filter(({ stream }) => stream === this.ownStream)
      let previous = FIRST_HASH
      for (const [at, event] of ofStream.entries()) {
        check(event.revision === String(at), `event ${String(at)} of the conversation is missing`)
        check(event.previousHash === previous, `event ${String(at)} does not follow from the one before it`)
        previous = event.hash
      }
      check(ofStream.length > 0, 'the file has no event of the conversation')
      check(
        ofStream.length > Number(this.claims.context.revision),
        'the file does not have all events up to the moment that it shows',
      )
      return `The conversation is complete, from its first event up to the moment shown here: ${many(ofStream.length, 'event')}, each of which names the one before it.`
    })
  }

  private messages(): readonly Fields[] {
    return listOf(JSON.parse(this.claims.context.text), 'context').map((message) => fieldsOf(message, 'context'))
  }

  private async context(): Promise<ReadEvent | undefined> {
    const { text, revision, statedBy } = this.claims.context
    let answer: ReadEvent | undefined
    await this.step('Context', async () => {
      const hash = hexOf(await sha256(utf8(text)))
      const messages = many(this.messages().length, 'message')
      if (statedBy === undefined)
        return {
          open: `The log does not record that the model received exactly the context below (${messages}). That is usual between two answers: an answer names what the model received, and none follows this moment directly. Ask the operator for the evidence of an answer.`,
        }
      const event = this.eventAt(statedBy)
      check(event.stream === this.ownStream, 'the event that states the context is of another conversation')
      if (event.type === 'MessageAppended') {
        const answers = fieldsOf(event.data['answers'], 'answers')
        check(
          answers['hash'] === hash && answers['revision'] === revision,
          'the messages shown here are not those that the recorded answer names',
        )
        answer = event
        return `The ${messages} shown here are exactly those that the recorded answer names as what the model saw (by their SHA-256).`
      }
      check(
        event.data['contextHash'] === hash && event.revision === revision,
        'the messages shown here are not those that the recorded compaction names',
      )
      return `The ${messages} shown here are exactly those that the recorded compaction made (by their SHA-256).`
    })
    return answer
  }

  private async wording(): Promise<void> {
    await this.step('Word for word', async () => {
      const { messageIds, adapted } = this.claims.context
      const messages = this.messages()
      check(messageIds.length === messages.length, 'the file does not name the origin of each message')
      let compared = 0
      for (const [at, message] of messages.entries()) {
        const id = messageIds[at]
        if (id === undefined || adapted.has(at)) continue
        const event = this.messagesById.get(id)
        check(event !== undefined, `message ${String(at + 1)} is not recorded`)
        check(
          event.data['role'] === message['role'] && same(event.data['content'], message['content']),
          `message ${String(at + 1)} differs from the recorded one`,
        )
        compared += 1
      }
      const rest = messages.length - compared
      return `${compared.toLocaleString('en')} of the ${many(messages.length, 'message')} shown here ${compared === 1 ? 'is' : 'are'} word for word as recorded.${rest === 0 ? '' : ` The program made or adapted the other ${rest.toLocaleString('en')}: summaries, notes, shortened messages.`}`
    })
  }

  private summary(claim: SummaryClaim): ReadSummary {
    const event = this.eventAt(claim.recorded)
    const { data } = event
    check(data['batchId'] === claim.batchId, `the summary ${claim.batchId} is not the recorded one`)
    const text = textOf(data['content'], 'content')
    if (event.type === 'BatchesResummarized') {
      check(
        same(
          data['sourceBatchIds'],
          claim.sources.map(({ batchId }) => batchId),
        ),
        `the summary ${claim.batchId} was not made of the summaries that the file names`,
      )
      const summarizer = fieldsOf(data['summarizer'], 'summarizer')
      return {
        batchId: claim.batchId,
        text,
        messages: [],
        summarizer,
        event,
        sources: claim.sources.map((each) => this.summary(each)),
      }
    }
    check(event.type === 'BatchArchived' && claim.sources.length === 0, `${claim.batchId} is not a summary`)
    const origin = claim.chunk ?? claim.observed
    check(origin !== undefined, `the file does not say who wrote the summary ${claim.batchId}`)
    const made = this.eventAt(origin)
    check(
      made.data['chunkId'] === data['chunkId'],
      `the summary ${claim.batchId} was not made by the event that the file names`,
    )
    const ids = textsOf(data['messageIds'], 'messageIds')
    if (claim.chunk !== undefined)
      check(
        made.type === 'ChunkSummarized' && same(made.data['messageIds'], ids),
        `the summary ${claim.batchId} stands for other messages`,
      )
    const messages = ids.map((id) => {
      const message = this.messagesById.get(id)
      check(message !== undefined, `a message that the summary ${claim.batchId} stands for is not in this file`)
      return message
    })
    const summarizer = claim.chunk === undefined ? undefined : fieldsOf(made.data['summarizer'], 'summarizer')
    return { batchId: claim.batchId, text, messages, summarizer, event: made, sources: [] }
  }

  private async summaries(): Promise<readonly ReadSummary[]> {
    let summaries: readonly ReadSummary[] = []
    if (this.claims.summaries.length > 0)
      await this.step('Summaries', async () => {
        summaries = this.claims.summaries.map((claim) => this.summary(claim))
        const messages = summaries.reduce((sum, summary) => sum + messagesOf(summary).length, 0)
        return `The ${many(summaries.length, 'summary', 'summaries')} in the context ${summaries.length === 1 ? 'stands' : 'stand'} for ${many(messages, 'message')}. All of them are below, as recorded, with the model and the prompt of each summary.`
      })
    return summaries
  }

  private async prompts(summaries: readonly ReadSummary[]): Promise<readonly ReadPrompt[]> {
    const hashes = new Set(summaries.flatMap((summary) => [...promptHashes(summary)]))
    const prompts: ReadPrompt[] = []
    if (hashes.size === 0) return prompts
    await this.step('Prompts', async () => {
      for (const hash of hashes) {
        const event = this.byPlace.get(keyOf({ stream: `prompt-${hash}`, revision: '0' }))
        if (event === undefined) continue
        const text = textOf(event.data['text'], 'text')
        check(hexOf(await sha256(utf8(text))) === hash, 'the text of a prompt is not the one that the summaries name')
        prompts.push({ name: textOf(event.data['name'], 'name'), sha256: hash, text })
      }
      const missing = hashes.size - prompts.length
      return missing === 0
        ? `The instructions that the summaries were made with are shown below, exactly as the summaries name them (by SHA-256): ${many(prompts.length, 'text')}.`
        : { open: `The text of ${many(missing, 'prompt')} is not recorded; only the hash is known.` }
    })
    return prompts
  }

  async run(): Promise<Verified> {
    const { fingerprints } = await this.signature()
    await this.step('Readable', async () => {
      await this.readEvents()
      return `All ${many(this.events.length, 'event')} can be read, and the hash of each was computed from its text.`
    })
    await this.inclusion()
    await this.chain()
    const answer = await this.context()
    await this.wording()
    const summaries = await this.summaries()
    const prompts = await this.prompts(summaries)
    const { steps, claims, note, events } = this
    return { steps, claims, note, fingerprints, events, messages: this.messages(), summaries, prompts, answer }
  }
}

/** All messages that a summary replaces, also through other summaries. */
export const messagesOf = ({ messages, sources }: ReadSummary): readonly ReadEvent[] => [
  ...messages,
  ...sources.flatMap(messagesOf),
]

function* promptHashes({ summarizer, sources }: ReadSummary): Generator<string> {
  for (const part of [summarizer?.['prompt'], summarizer?.['persona']])
    if (isFields(part)) yield textOf(part['sha256'], 'sha256')
  for (const source of sources) yield* promptHashes(source)
}

/** Verifies the evidence. Throws if the text is not evidence at all. */
export const verifyEvidence = async (json: string): Promise<Verified> => await new Verifier(readClaims(json)).run()
