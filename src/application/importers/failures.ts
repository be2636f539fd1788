/** Import failures and their messages. */
import type { Sentences } from '../../domain/values/failure-sentences.js'
import type { SourcePlace } from '../../domain/events/index.js'
import { refusalOfForm, type UnreadForm } from './unread-forms.js'
import type { TranscriptsContradict } from './recorded-transcript.js'

/** No importer recognizes the file. */
interface UnknownTranscript {
  readonly kind: 'UnknownTranscript'
  readonly file: string
  /** The beginning of the file. */
  readonly begins: string
  readonly programs: readonly string[]
  /** The format of the file, if it is known although no importer reads it. */
  readonly form?: UnreadForm | undefined
}

/** The caller named a program, and the file is not one of its transcripts. */
interface NotOfProgram {
  readonly kind: 'NotOfProgram'
  readonly file: string
  readonly program: string
}

/** There is no importer with this name. */
interface NoSuchProgram {
  readonly kind: 'NoSuchProgram'
  readonly program: string
  readonly programs: readonly string[]
}

export type ImportFailure = UnknownTranscript | NotOfProgram | NoSuchProgram | TranscriptsContradict

const locationText = ({ file, line, path }: SourcePlace): string =>
  `${file}${line === undefined ? '' : `:${String(line)}`}${path === undefined ? '' : ` ${path}`}`

/** The messages of import failures. */
export const importSentences: Sentences<ImportFailure> = {
  UnknownTranscript: (failure) =>
    failure.form !== undefined
      ? refusalOfForm(failure.file, failure.form, failure.programs)
      : `${failure.file} is not a transcript of a supported program (${failure.programs.join(', ')}); it begins with ${failure.begins}`,
  NotOfProgram: (failure) => `${failure.file} is not a transcript of ${failure.program}`,
  NoSuchProgram: (failure) =>
    `there is no importer for "${failure.program}"; the programs are ${failure.programs.join(', ')}`,
  TranscriptsContradict: (failure) =>
    `${locationText(failure.where)}: message "${failure.messageId}" of ${failure.conversationId} differs from the one recorded${failure.recorded === undefined ? '' : ` from ${failure.recorded.file}`}; nothing of this transcript was imported`,
}
