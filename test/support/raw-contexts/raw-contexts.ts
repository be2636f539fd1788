/**
 * What a raw transcript says that the model was given right behind each compaction, read apart from the importers: the
 * texts in their order, and nothing of how they are spread over messages.
 */

/**
 * The texts of one context: words, thoughts, calls (the name and what is given to it), results, and what only its
 * provider reads, as it stands in the file.
 */
export type RawContext = readonly string[]

/** The contexts of a file, in the order of its compactions. */
export type ReadContexts = (path: string) => Promise<readonly RawContext[]>

/** A call as a text. */
export const callText = (name: unknown, input: unknown): string =>
  `${String(name)} ${typeof input === 'string' ? input : JSON.stringify(input ?? {})}`
