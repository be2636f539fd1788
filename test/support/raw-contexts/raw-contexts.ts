/**
 * The context of the model right after each compaction, according to a raw transcript, and read independently of the
 * importers: the texts in order, regardless of how they are split into messages.
 */

/**
 * The texts of one context: words, thoughts, calls (name and arguments), results, and provider-specific data unchanged
 * from the file.
 */
export type RawContext = readonly string[]

/** The contexts of a file, in the order of its compactions. */
export type ReadContexts = (path: string) => Promise<readonly RawContext[]>

/** A call as a text. */
export const callText = (name: unknown, input: unknown): string =>
  `${String(name)} ${typeof input === 'string' ? input : JSON.stringify(input ?? {})}`
