/**
 * The changes of the working state that a model asks for: the form of its answer, and a tolerant reader of it. Nothing
 * here is checked against the messages.
 */
import { z } from 'zod'
import type { StateItemKind } from '../../domain/events/index.js'
import { isRecord } from '../../lib/is-record.js'
import { jsonIn } from './read-sections.js'

/** The kinds of items that a model may add. */
const KINDS = [
  'rule',
  'open',
  'decision',
  'value',
  'result',
  'error',
  'file',
  'fact',
] as const satisfies StateItemKind[]

const revisions = z.array(z.string())
const words = { text: z.string(), reason: z.string(), next: z.string(), sources: revisions }
const answerSchema = z.object({
  operations: z.array(
    z.union([
      z.object({ op: z.literal('add'), kind: z.enum(KINDS), ...words }),
      z.object({ op: z.literal('replace'), id: z.string(), ...words }),
      z.object({ op: z.literal('append'), id: z.string(), text: z.string(), sources: revisions }),
      z.object({ op: z.literal('close'), id: z.string(), sources: revisions }),
    ]),
  ),
  state: z.string(),
})
const { $schema: _dialect, ...answerJsonSchema } = z.toJSONSchema(answerSchema)
/** The JSON schema of an answer. */
export const OPERATIONS_SCHEMA = { name: 'document_changes', schema: answerJsonSchema }

/** The description of the form. It is a separate message, so it also applies to a custom template. */
export const OPERATIONS_FORM = `Answer with one JSON object and nothing else: {"operations": [...], "state": "..."}.
Each operation is one of:
- {"op": "add", "kind": KIND, "text": "...", "reason": "", "next": "", "sources": ["r12"]}: a new item. KIND is one of: rule (a demand, prohibition, preference, limit or refusal of the user that holds from now on; a single task is open work, and a guide that the user pasted is no rule), open (work that is still to do, to answer or to decide), decision, value (an exact number, name, command, address or date), result (a command or test whose outcome still holds), error, file (what was created or changed in it and why; one item may name several), fact (anything else, above all about people: what happened to them and when, what they have, like and plan).
- {"op": "replace", "id": "O3", "text": "...", "reason": "", "next": "", "sources": ["r15"]}: an item of the document has changed. An empty reason leaves the reason as it is; an empty next step removes it. An item of the user's words is replaced by later words of the user.
- {"op": "append", "id": "F3", "text": "...", "sources": ["r16"]}: an item of the document stays, and this is added to its text. Nothing can be added to a rule or a statement.
- {"op": "close", "id": "O3", "sources": ["r17"]}: an item of the document is finished, was taken back, has passed, or is needed no more. An item with "rule" after its id is closed only with a message in which the user takes it back; any message of these closes another one, the last one if none says it.
"sources" are the revisions of those of these messages that say it. The user also speaks in the results of tools that say "the user answered" or "the user refused". "reason" is why it was decided or demanded, "next" the next step; "" if there is none. A text can be understood without the others, and may be several short sentences about one subject.
A rule has the user's own words, exactly as written in its sources: the whole text, or in quotation marks, for example: On tests: "never mock the database". If the words are in no source, the rule is not recorded.
"state" is one or two sentences: where the work stands after the last message, and the next step.`

/** A change that a model asks for. Texts are trimmed; `sources` are revisions. */
export interface ProposedOperation {
  readonly op: 'add' | 'replace' | 'append' | 'close'
  /** Empty for a new item. */
  readonly id: string
  readonly kind: StateItemKind
  readonly text: string
  readonly reason: string
  readonly next: string
  readonly sources: readonly number[]
  /** As the model wrote it. */
  readonly written: string
}

/** An answer of a model. */
export interface Proposal {
  readonly operations: readonly ProposedOperation[]
  readonly state: string
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.replaceAll(/\s+/gu, ' ').trim() : '')

/** `r12`, `12`, 12, or a list of them in one text. */
const revisionsOf = (value: unknown): number[] =>
  (Array.isArray(value) ? value : [value]).flatMap((each) => {
    if (typeof each === 'number') return Number.isSafeInteger(each) ? [each] : []
    return typeof each === 'string'
      ? Array.from(each.matchAll(/(?<![\p{L}\d])r?(\d{1,15})(?!\d)/giu), ([, digits]) => Number(digits))
      : []
  })

const kindOf = (value: unknown): StateItemKind => KINDS.find((kind) => kind === value) ?? 'fact'

function operationOf(value: unknown): ProposedOperation[] {
  if (!isRecord(value)) return []
  const op = (['add', 'replace', 'append', 'close'] as const).find((each) => each === textOf(value['op']).toLowerCase())
  if (op === undefined) return []
  return [
    {
      op,
      id: textOf(value['id']),
      kind: kindOf(value['kind']),
      text: textOf(value['text']),
      reason: textOf(value['reason']),
      next: textOf(value['next']),
      sources: [...new Set(revisionsOf(value['sources']))],
      written: JSON.stringify(value),
    },
  ]
}

/** The proposal in an answer; undefined if it has none, as in prose. */
export function readProposal(answer: string): Proposal | undefined {
  for (const value of jsonIn(answer)) {
    if (!isRecord(value) || !Array.isArray(value['operations'])) continue
    const operations = value['operations'].flatMap(operationOf)
    if (operations.length === 0 && value['operations'].length > 0) continue
    return { operations, state: textOf(value['state']) }
  }
  return undefined
}
