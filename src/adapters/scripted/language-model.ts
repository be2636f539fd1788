/**
 * A language model that answers from a script, for tests: without network or clock. It records every request.
 */
import { either as E } from 'fp-ts'
import type {
  LanguageModel,
  LanguageModelAnswer,
  LanguageModelFailure,
  LanguageModelRequest,
} from '../../ports/language-model.js'

/** An answer: a text, a failure, or a function of the request and its number, from 0. */
export type ScriptedAnswer =
  | string
  | LanguageModelFailure
  | ((
      request: LanguageModelRequest,
      call: number,
    ) => string | LanguageModelFailure | Promise<string | LanguageModelFailure>)

export interface ScriptedLanguageModel extends LanguageModel {
  /** The requests so far, in order. */
  readonly requests: readonly LanguageModelRequest[]
}

export interface ScriptedOptions {
  readonly model?: string
  readonly provider?: string
  readonly windowTokens?: number
}

/** A failure for scripts. */
export const scriptedFailure = (
  failure: LanguageModelFailure['failure'],
  detail: string = failure,
): LanguageModelFailure => ({ kind: 'LanguageModelFailed', failure, detail })

/** Creates a language model that returns these answers in order, and repeats the last one. */
export function createScriptedLanguageModel(
  answers: readonly [ScriptedAnswer, ...ScriptedAnswer[]],
  options: ScriptedOptions = {},
): ScriptedLanguageModel {
  const requests: LanguageModelRequest[] = []
  const answerTo = async (
    request: LanguageModelRequest,
  ): Promise<E.Either<LanguageModelFailure, LanguageModelAnswer>> => {
    const call = requests.push(request) - 1
    const scripted = answers[Math.min(call, answers.length - 1)] ?? answers[0]
    const answer = typeof scripted === 'function' ? await scripted(request, call) : scripted
    if (typeof answer !== 'string') return E.left(answer)
    return answer.trim() === ''
      ? E.left(scriptedFailure('empty'))
      : E.right({
          text: answer,
          responseId: `scripted-${String(call)}`,
          usage: { promptTokens: request.prompt.length, completionTokens: answer.length },
        })
  }
  return {
    provider: options.provider ?? 'scripted',
    model: options.model ?? 'scripted-1',
    windowTokens: options.windowTokens ?? 128_000,
    parameters: ({ temperature, maxOutputTokens }) => ({ temperature, maxOutputTokens }),
    complete: (request, signal) => () =>
      signal?.aborted === true
        ? Promise.resolve(E.left(scriptedFailure('timeout', 'the call was cancelled')))
        : answerTo(request),
    requests,
  }
}
