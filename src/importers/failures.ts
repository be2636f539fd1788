/** What is said where a transcript cannot be recorded. */
import type { Sentences } from '../domain/values/failure-sentences.js'
import type { SourcePlace } from '../domain/events/index.js'
import type { TranscriptsContradict } from './record-transcript.js'

/** The file is of no program that we know. */
interface UnknownTranscript {
  readonly kind: 'UnknownTranscript'
  readonly file: string
  /** How it begins. */
  readonly begins: string
  readonly programs: readonly string[]
}

/** The program was named, and the file is not one that it writes. */
interface NotOfProgram {
  readonly kind: 'NotOfProgram'
  readonly file: string
  readonly program: string
}

/** No program has this name. */
interface NoSuchProgram {
  readonly kind: 'NoSuchProgram'
  readonly program: string
  readonly programs: readonly string[]
}

export type ImportFailure = UnknownTranscript | NotOfProgram | NoSuchProgram | TranscriptsContradict

const place = ({ file, line, path }: SourcePlace): string =>
  `${file}${line === undefined ? '' : `:${String(line)}`}${path === undefined ? '' : ` ${path}`}`

/** Their sentences. */
export const importSentences: Sentences<ImportFailure> = {
  UnknownTranscript: (failure) => [
    'input',
    `${failure.file} is a transcript of no program that we know (${failure.programs.join(', ')}); it begins with ${failure.begins}`,
  ],
  NotOfProgram: (failure) => ['input', `${failure.file} is no transcript of ${failure.program}`],
  NoSuchProgram: (failure) => [
    'input',
    `there is no importer for "${failure.program}": there are ${failure.programs.join(', ')}`,
  ],
  TranscriptsContradict: (failure) => [
    'input',
    `${place(failure.where)} says message "${failure.messageId}" of ${failure.conversationId} otherwise than ${failure.recorded === undefined ? 'what is recorded' : `what was recorded from ${failure.recorded.file}`}: nothing further of it is recorded`,
  ],
}
