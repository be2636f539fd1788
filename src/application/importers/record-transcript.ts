/**
 * Records a transcript, conversation by conversation, in the order of its records. Importing the same transcript again,
 * or one that has grown, adds only the new items.
 */
import { either as E } from 'fp-ts'
import type { BadId } from '../../domain/values/ids.js'
import { ConversationWriter } from './conversation-writer.js'
import { observedIds } from './observed-ids.js'
import { ConversationRecording } from './record-conversation.js'
import type {
  RecordedTranscript,
  RecordOptions,
  RecordTranscriptDependencies,
  TranscriptFailure,
} from './recorded-transcript.js'
import type { ConversationItem, DamageItem, TranscriptItem } from './transcript.js'

/** Records a growing transcript: further items continue the earlier ones. */
export interface TranscriptRecorder {
  /**
   * Records the next items. Do not use the recorder after a failure or an abort.
   * @returns the result of this call, with the conversations that the items concern
   */
  take(
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>>
}

/** Creates a recorder for a transcript, from its beginning. */
export const createTranscriptRecorder = (deps: RecordTranscriptDependencies): TranscriptRecorder =>
  createRecorder(deps, false)

/** Compares a transcript with what is recorded, so that one that contradicts it is refused before anything is recorded. */
export const createCheckTranscript =
  (deps: RecordTranscriptDependencies) =>
  async (
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> =>
    await createRecorder(deps, true).take(items, options)

function createRecorder(deps: RecordTranscriptDependencies, isCheck: boolean): TranscriptRecorder {
  const recorder = new Recorder(deps, isCheck)
  return { take: (items, options) => recorder.take(items, options) }
}

class Recorder implements TranscriptRecorder {
  readonly #recordings = new Map<string, ConversationRecording>()
  #conversationIdOf: ReturnType<typeof observedIds> | undefined
  #current: ConversationRecording | undefined
  /** Damage before the first conversation item is recorded in that conversation. */
  #early: DamageItem[] = []

  constructor(
    private readonly deps: RecordTranscriptDependencies,
    private readonly isCheck: boolean,
  ) {}

  async take(
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> {
    const leftOut = new Map<string, number>()
    const damage: DamageItem[] = []
    for (const recording of this.#recordings.values()) recording.startImport(options)
    const concerned = new Set<ConversationRecording>()
    for await (const item of items) {
      options.signal?.throwIfAborted()
      options.onItem?.(item)
      if (item.kind === 'left-out') {
        leftOut.set(item.what, (leftOut.get(item.what) ?? 0) + 1)
        continue
      }
      if (item.kind === 'damage') damage.push(item)
      const recording =
        item.kind === 'conversation' ? await this.#continue(item, options) : E.right(this.#recordingOf(item))
      if (E.isLeft(recording)) return recording
      if (recording.right === undefined) {
        if (item.kind === 'damage') this.#early.push(item)
        continue
      }
      concerned.add(recording.right)
      const recorded = await recording.right.take(item)
      if (E.isLeft(recorded)) return recorded
    }
    for (const recording of concerned) {
      const finished = await recording.finish()
      if (E.isLeft(finished)) return finished
    }
    return E.right({ conversations: [...concerned].map(({ result }) => result), leftOut, damage })
  }

  /** The recording of the conversation that follows in the transcript. */
  async #continue(
    item: ConversationItem,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure, ConversationRecording>> {
    const known = this.#recordings.get(item.sourceId)
    known?.retitle(item)
    const flushed = await this.#current?.flush()
    if (flushed !== undefined && E.isLeft(flushed)) return flushed
    const recording = known ?? (await this.#begin(item, options))
    this.#current = recording
    for (const each of this.#early.splice(0)) {
      const recorded = await recording.take(each)
      if (E.isLeft(recorded)) return recorded
    }
    return E.right(recording)
  }

  async #begin(item: ConversationItem, options: RecordOptions): Promise<ConversationRecording> {
    const conversationIdOf = (this.#conversationIdOf ??= observedIds(this.deps.log, options.program, options.scope))
    const beginning = { item, titled: item, conversationIdOf }
    const writer = new ConversationWriter(this.deps, options, beginning, await conversationIdOf(item.sourceId))
    const recording = new ConversationRecording(writer, this.isCheck)
    await writer.catchUp()
    this.#recordings.set(item.sourceId, recording)
    return recording
  }

  /** The recording that an item is of; a damaged line may be of any conversation in the transcript. */
  #recordingOf(item: TranscriptItem): ConversationRecording | undefined {
    return item.kind === 'damage' && item.sharesLine !== true ? this.#root() : this.#current
  }

  /** The conversation in the same transcript that started the current one as a sub-agent. */
  #root(): ConversationRecording | undefined {
    const visited = new Set<ConversationRecording>()
    let root = this.#current
    while (root !== undefined && !visited.has(root)) {
      visited.add(root)
      const parent = root.parentId === undefined ? undefined : this.#recordings.get(root.parentId)
      if (parent === undefined) return root
      root = parent
    }
    return root
  }
}

export const createRecordTranscript =
  (deps: RecordTranscriptDependencies) =>
  async (
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> =>
    await createTranscriptRecorder(deps).take(items, options)
