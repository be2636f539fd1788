/**
 * Notes that the proxy adds to requests after a compaction by the client's program (`--recall`). A note is one message of
 * the user at the end of the first list after the compaction. The client's list does not have it, so later requests get
 * it at the same place, until the next compaction: otherwise the model would lose it, and the provider's prompt cache
 * with it.
 */
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../../library/ledger.js'
import type { Api } from '../../application/model-apis/api.js'
import { fieldsOf, type Fields } from '../../application/model-apis/json.js'
import type { RequestRecord } from './recorder.js'

const MAX_NOTES = 10_000

/** A note, and its place in the list of a request. */
interface PlacedNote {
  readonly text: string
  /** The number of elements of the list before it. */
  readonly index: number
  /** Recorded with each answer to a request that had the note. */
  readonly attributes: { readonly recallNote: { readonly revision: number; readonly tokens: number } }
}

const listName = ({ name }: Api): 'input' | 'messages' => (name === 'responses' ? 'input' : 'messages')

/** The place after the last element that is not an instruction: Anthropic accepts instructions only before an answer. */
const placeIn = (list: readonly unknown[]): number =>
  list.findLastIndex((element) => !['system', 'developer'].includes(String(fieldsOf(element)['role']))) + 1

const messageOf = ({ name }: Api, text: string): Fields =>
  name === 'responses'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
    : { role: 'user', content: text }

export class RecallNotes {
  private readonly notes = new LRUCache<string, PlacedNote>({ max: MAX_NOTES })

  /** @param rules the rules with which each note begins */
  constructor(
    private readonly ledger: Ledger,
    private readonly rules: readonly string[],
  ) {}

  /** The body of a request with the note of its conversation, and the record that marks its answer. */
  async added(
    api: Api,
    body: Fields,
    record: RequestRecord,
  ): Promise<{ readonly body: Fields; readonly record: RequestRecord } | undefined> {
    const { conversationId } = record
    const list = body[listName(api)]
    if (record.outcome !== 'recorded' || conversationId === undefined || !Array.isArray(list)) return undefined
    if (record.isAfterCompaction === true) await this.renew(conversationId, list)
    const note = this.notes.get(conversationId)
    // A shorter list is of an earlier point of the conversation.
    if (note === undefined || list.length < note.index) return undefined
    return {
      body: { ...body, [listName(api)]: list.toSpliced(note.index, 0, messageOf(api, note.text)) },
      record: {
        ...record,
        recordAnswer: async (answer, ending, more = {}) =>
          await record.recordAnswer(answer, ending, { ...more, ...note.attributes }),
      },
    }
  }

  /** Makes the note for a new compaction. */
  private async renew(conversationId: string, list: readonly unknown[]): Promise<void> {
    this.notes.delete(conversationId)
    const { text, revision, tokens } = await this.ledger.recall(conversationId, { rules: this.rules })
    if (text === '') return
    this.notes.set(conversationId, {
      text,
      index: placeIn(list),
      attributes: { recallNote: { revision, tokens } },
    })
  }
}
