/**
 * Sealed texts in the stored data of an event. They are the first field of the data, so that a reader recognizes them
 * without parsing. The rest of the data has placeholders in their places.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { isRecord } from '../../lib/is-record.js'
import { count, id } from './fields.js'
import { objectAt } from './texts.js'

const sealedSchema = z.array(
  z.object({
    /** Path of the object whose fields are sealed; absent for the data itself. */
    at: z.array(z.union([z.string(), count])).optional(),
    /** The texts with one key, which are erased together. */
    unit: id,
    /** The generation of the conversation's keys. */
    epoch: count,
    /** Pseudonyms of the persons whose keys are needed in addition. */
    subjects: z.array(id).optional(),
    unmarked: z.literal(true).optional(),
    iv: z.string(),
    /** Ciphertext and tag, base64. */
    text: z.string(),
  }),
)

/** Sealed texts of one object. */
export type SealedTexts = z.infer<typeof sealedSchema>[number]

/** The place that sealed texts belong to. They cannot be opened at another place. */
export interface SealedPlace {
  readonly stream: string
  readonly revision: number
  readonly type: string
}

/** Opens sealed texts. `erased`: the key is destroyed. `damaged`: they were changed, or are from another place. */
export type OpenTexts = (
  sealed: SealedTexts,
  place: SealedPlace,
) => Readonly<Record<string, unknown>> | 'erased' | 'damaged'

const START = '{"sealed":['

/** Whether stored data has sealed texts. */
export const hasSealedTexts = (dataText: string): boolean => dataText.startsWith(START)

/** The text of data with sealed texts. */
export function textWithSealed(data: Readonly<Record<string, unknown>>, sealed: readonly SealedTexts[]): string {
  const rest = JSON.stringify(data)
  return `{"sealed":${JSON.stringify(sealed)}${rest === '{}' ? '' : ','}${rest.slice(1)}`
}

/** What the authentication of sealed texts covers, in addition to the texts. */
export const sealedContext = (
  { stream, revision, type }: SealedPlace,
  { at = [], unit, epoch, subjects = [] }: Pick<SealedTexts, 'at' | 'unit' | 'epoch' | 'subjects'>,
): string => JSON.stringify([stream, revision.toString(), type, at, unit, epoch, subjects])

/** An entry for the data itself that needs one key; undefined if the schema must decide. */
function plainEntry(entry: unknown): SealedTexts | undefined {
  if (!isRecord(entry) || Object.keys(entry).length !== 4) return undefined
  const { unit, epoch, iv, text } = entry
  return typeof unit === 'string' &&
    unit !== '' &&
    typeof epoch === 'number' &&
    Number.isSafeInteger(epoch) &&
    epoch >= 0 &&
    typeof iv === 'string' &&
    typeof text === 'string'
    ? { unit, epoch, iv, text }
    : undefined
}

/** The sealed texts of stored data. */
export function sealedTextsOf(data: Readonly<Record<string, unknown>>): readonly SealedTexts[] | undefined {
  const { sealed } = data
  // Fast path for the most frequent form: the texts of a message that names no person.
  if (Array.isArray(sealed) && sealed.length === 1) {
    const plain = plainEntry(sealed[0])
    if (plain !== undefined) return [plain]
  }
  return sealedSchema.safeParse(sealed).data
}

/** A copy of stored data, without the fields that only stored data has. */
function withoutSealed(stored: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const data: Record<string, unknown> = {}
  // Takes half as long as the rest of a destructuring.
  for (const name of Object.keys(stored)) if (name !== 'sealed' && name !== 'erased') data[name] = stored[name]
  return data
}

/**
 * The data with its texts. Erased ones stay placeholders, and their object is marked as erased.
 * @param parsed the stored data. Its objects become parts of the result and get their texts.
 */
export function openData(
  parsed: Readonly<Record<string, unknown>>,
  sealed: readonly SealedTexts[],
  place: SealedPlace,
  open: OpenTexts,
): E.Either<string, Record<string, unknown>> {
  const data = withoutSealed(parsed)
  for (const entry of sealed) {
    const values = open(entry, place)
    if (values === 'damaged') return E.left(`its sealed text of ${entry.unit} was changed, or is from another event`)
    const object = objectAt(data, entry.at ?? [])
    if (object === undefined) continue
    if (values !== 'erased') Object.assign(object, values)
    else if (entry.unmarked !== true) object['erased'] = true
  }
  return E.right(data)
}
