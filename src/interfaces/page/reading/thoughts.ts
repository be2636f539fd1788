/** The thoughts of a model in the content of a message. */
import { isRecord } from '../../../lib/is-record.js'

/** The thoughts, as far as they are readable. */
export const thoughtsIn = (content: unknown): readonly string[] =>
  Array.isArray(content)
    ? content.flatMap((part: unknown) =>
        isRecord(part) && typeof part['thinking'] === 'string' && part['thinking'] !== '' ? [part['thinking']] : [],
      )
    : []

/** Whether a part of content is a thought, readable or not. */
export const isThought = ({ type }: { readonly type: string }): boolean => /thinking|reasoning/u.test(type)
