/**
 * Saves the messages of the AI SDK's user interface (`UIMessage`) in a ledger. A process remembers what each conversation
 * has saved, so that a save reads only the events recorded since the last one.
 */
import type { UIMessage } from 'ai'
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import type { RecordedEvent } from '../../../domain/events/index.js'
import { hashOf } from '../../../domain/values/hash.js'
import { fieldsWith, type MessageBody } from '../../../domain/values/message.js'
import { parseMessage } from '../../../domain/values/parse-message.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { createTurns } from '../../../lib/turns.js'
import type { Ledger } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import type { Fields } from '../../../application/model-apis/json.js'
import { isSameExceptSecrets } from '../../../application/secrets/same-except-secrets.js'
import { checkConversationId } from '../options.js'
import { attributeOf, inputsOfList, type Recorded, type SavedInput } from './ui-messages.js'

/** A recorded message of the saved list. */
interface SavedMessage {
  readonly messageId: string
  readonly revision: number
  readonly isErased: boolean
  /** Hash of the input that was last found equal to the recorded message. */
  equalInput?: string
}

/** A message of the interface sets fields of the body and attributes. */
const COMPARED = [...fieldsWith('isBody'), 'attributes'] as const
const comparedFields = (message: MessageBody & { readonly attributes?: Fields | undefined }): unknown =>
  COMPARED.map((field) => message[field])

/** A message id without the number of a replacement. */
const givenIdOf = (messageId: string): string => messageId.replace(/~\d+$/u, '')

const hasIdOf = ({ messageId }: SavedMessage, id: string): boolean => messageId === id || givenIdOf(messageId) === id

/** The saved list of one conversation, as its events up to `last` have it. */
class SavedList {
  private last: { readonly revision: number; readonly id: string } | undefined
  private messages: SavedMessage[] = []
  /** The ids of all messages, also of withdrawn ones. */
  private readonly ids = new Set<string>()
  /** Messages that the current save has read; empty between saves. */
  private readonly read = new Map<string, Recorded>()

  get size(): number {
    return this.ids.size
  }

  /** Reads the events since the last save. False if they do not continue the known ones, or texts were erased. */
  async readNew(ledger: Pick<Ledger, 'log'>, conversationId: string): Promise<boolean> {
    const known = this.last
    let continues = known === undefined
    for await (const event of ledger.log(conversationId, known === undefined ? {} : { from: known.revision })) {
      if (known !== undefined && !continues) {
        if (event.id !== known.id) return false
        continues = true
      } else {
        if (known !== undefined && (event.type === 'ErasureRequested' || event.type === 'ErasureCompleted'))
          return false
        this.apply(event)
      }
    }
    return continues
  }

  private apply({ type, data, revision, id }: RecordedEvent): void {
    if (type === 'MessageAppended') {
      this.ids.add(data.messageId)
      const isErased = data.erased === true
      if (attributeOf(data) !== undefined || isErased)
        this.messages.push({ messageId: data.messageId, revision, isErased })
      this.read.set(data.messageId, data)
    } else if (type === 'MessagesWithdrawn') {
      const withdrawn = new Set(data.messages.map(({ messageId }) => messageId))
      this.messages = this.messages.filter(({ messageId }) => !withdrawn.has(messageId))
    }
    this.last = { revision, id }
  }

  /** The messages of the list. An erased message has no attribute; it is one of the list if an input has its id. */
  private listed(inputs: readonly SavedInput[]): readonly SavedMessage[] {
    const ids = new Set(inputs.map(({ id }) => id))
    return this.messages.filter(
      ({ isErased, messageId }) => !isErased || ids.has(messageId) || ids.has(givenIdOf(messageId)),
    )
  }

  /** What to withdraw and to append, so that the list has these messages. */
  async changes(
    inputs: readonly SavedInput[],
    readAt: (revision: number) => Promise<Recorded | undefined>,
  ): Promise<{ readonly withdraw: string[]; readonly append: SavedInput[] }> {
    const saved = this.listed(inputs)
    let same = 0
    for (const input of inputs) {
      const message = saved[same]
      if (message === undefined || !(await this.isRecorded(input, message, readAt))) break
      same += 1
    }
    this.read.clear()
    return {
      withdraw: saved.slice(same).map(({ messageId }) => messageId),
      append: inputs.slice(same).map((input) => ({ ...input, id: this.freeId(input.id) })),
    }
  }

  /** Whether a message is recorded as it is. An erased one counts as recorded. */
  private async isRecorded(
    input: SavedInput,
    message: SavedMessage,
    readAt: (revision: number) => Promise<Recorded | undefined>,
  ): Promise<boolean> {
    if (!hasIdOf(message, input.id)) return false
    const parsed = parseMessage(input)
    if (message.isErased || E.isLeft(parsed)) return message.isErased
    const fields = comparedFields(parsed.right)
    const hash = hashOf(fields)
    if (hash === message.equalInput) return true
    const recorded = this.read.get(message.messageId) ?? (await readAt(message.revision))
    if (recorded === undefined || !isSameExceptSecrets(comparedFields(recorded), fields)) return false
    message.equalInput = hash
    return true
  }

  /** The id of a message that is recorded now: another one if a recorded message has it. */
  private freeId(id: string): string {
    if (!this.ids.has(id)) return id
    let number = 2
    while (this.ids.has(`${id}~${String(number)}`)) number += 1
    return `${id}~${String(number)}`
  }
}

/** Messages of which a ledger remembers the saved lists. A longer list is remembered alone. */
const MOST_MESSAGES = 200_000

/** The saved lists of a ledger that this process knows. */
class SavedLists {
  private readonly turns = createTurns()
  private readonly known = new LRUCache<string, SavedList>({
    maxSize: MOST_MESSAGES,
    sizeCalculation: ({ size }) => Math.min(size + 1, MOST_MESSAGES),
  })

  constructor(private readonly ledger: Pick<Ledger, 'append' | 'amend' | 'log'>) {}

  /** Saves of one conversation run one after the other. */
  save(conversationId: string, inputs: readonly SavedInput[]): Promise<void> {
    return this.turns.runInOrder(conversationId, async () => {
      const list = await this.current(conversationId)
      const { withdraw, append } = await list.changes(inputs, (revision) => this.messageAt(conversationId, revision))
      this.known.set(conversationId, list)
      if (withdraw.length > 0) await this.ledger.amend(conversationId, { withdraw, append })
      else if (append.length > 0) await this.ledger.append(conversationId, append)
    })
  }

  private async current(conversationId: string): Promise<SavedList> {
    const known = this.known.get(conversationId)
    this.known.delete(conversationId)
    try {
      if (known !== undefined && (await known.readNew(this.ledger, conversationId))) return known
      const list = new SavedList()
      await list.readNew(this.ledger, conversationId)
      return list
    } catch (error) {
      if (!isLedgerError(error, 'NoSuchConversation')) throw error
      return new SavedList()
    }
  }

  private async messageAt(conversationId: string, revision: number): Promise<Recorded | undefined> {
    for await (const event of this.ledger.log(conversationId, { from: revision, limit: 1 }))
      if (event.type === 'MessageAppended') return event.data
    return undefined
  }
}

const listsOf = new WeakMap<object, SavedLists>()

/**
 * Saves the UI messages of a conversation. The list is the source of truth: new messages are recorded, and from the first
 * one that changed, the recorded messages are withdrawn and those of the list recorded instead. Saving the same list again
 * records nothing. Messages that were recorded in other ways remain. The first save through a ledger reads the
 * conversation, and each later one the events since then.
 */
export async function saveUIMessages(
  ledger: Pick<Ledger, 'append' | 'amend' | 'log'>,
  conversationId: string,
  messages: readonly UIMessage[],
): Promise<void> {
  const id = checkConversationId(conversationId)
  const inputs = inputsOfList(messages)
  const ids = new Set<string>()
  const repeated = inputs.find((input) => ids.size === ids.add(input.id).size)
  if (repeated !== undefined)
    throw problem({ kind: 'BadInput', field: 'messages', detail: `use the id "${repeated.id}" twice` })
  const lists = listsOf.get(ledger) ?? new SavedLists(ledger)
  listsOf.set(ledger, lists)
  await lists.save(id, inputs)
}
