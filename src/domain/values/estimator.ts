/** The interface of token estimators, and the properties of a content part that they receive. */
import type { ContentPart } from './message.js'

/** Kind of a content part other than text; `other` if the part does not say. */
export type MediaKind = 'image' | 'audio' | 'video' | 'file' | 'other'

/** Properties of a content part, read without knowledge of its API. */
export interface Media {
  /** Image, file, audio, video or other. */
  readonly kind: MediaKind
  /** Media type or format, as written in the part. */
  readonly mediaType?: string
  /** File name, if the part has one. */
  readonly name?: string
  /** Length of the data in the part; undefined if the part only refers to it. */
  readonly bytes?: number
}

/** Estimates the tokens of a text. An exact tokenizer can replace the default. */
export interface Estimator {
  /** Recorded in the configuration of the stream. */
  readonly name: string
  /**
   * Tokens of a text: a whole number from 0 to 2,147,483,647. Any other result is an error (`EstimatorFailed`), and
   * nothing is recorded.
   */
  text(text: string): number
  /**
   * Tokens of a content part other than text (an image, a file, audio): a whole number >= 0. If this is absent or
   * returns undefined, an image counts 1,000, a file 2,000 for each 50 kB and at least 2,000, audio and video one for
   * each kB, and any other part counts as its JSON without the data in it.
   * @param part as it was appended
   * @param media its kind, and its length, name and media type if the part has them
   */
  part?(part: ContentPart, media: Media): number | undefined
}

/** Finds an estimator by its recorded name. Throws if this process has none of that name. */
export type FindEstimator = (name: string) => Estimator
