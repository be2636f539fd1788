/** The log of `serve` on standard error: a line for each request, and for each problem. No line has content. */
import { toWire } from '../../domain/values/revision.js'
import { kindOf, sentenceOfProblem } from '../../library/problem.js'
import type { ServiceOptions } from '../service/app.js'
import type { AnsweredRequest } from '../service/requests.js'
import { note, noteColours } from './output.js'

/** @param form `text`, `json`, or `errors` for problems alone */
export function requestLog(
  form: string,
): Pick<ServiceOptions, 'onAnswer'> & Required<Pick<ServiceOptions, 'onProblem'>> {
  const isJson = form === 'json'
  return {
    ...(form === 'errors' ? {} : { onAnswer: (request) => note(isJson ? toWire(request) : textOf(request)) }),
    onProblem(problem, requestId) {
      const message = sentenceOfProblem(problem)
      const at = new Date().toISOString()
      if (isJson)
        note(toWire({ at, problem: kindOf(problem), message, ...(requestId === undefined ? {} : { requestId }) }))
      else
        note(
          `${noteColours.yellow('warning:')} ${at} ${requestId === undefined ? '' : `request ${requestId}: `}${message}`,
        )
    },
  }
}

const textOf = ({ at, method, route, status, milliseconds, keyId, requestId, kind }: AnsweredRequest): string =>
  [
    `${at} ${String(status)} ${method} ${route} ${milliseconds.toFixed(1)} ms`,
    ...(kind === undefined ? [] : [kind]),
    ...(keyId === undefined ? [] : [`key ${keyId}`]),
    `request ${requestId}`,
  ].join(' ')
