/**
 * Decides whether the first message of a conversation asks for something, by fixed rules: one of its sentences begins
 * with an instruction, asks the reader to act, states a need, or names a file or an identifier. Greetings and small
 * talk match none of them. A message without a match counts as no request, which costs a heading and no text.
 */
import { hasIdentifier } from '../text/identifiers.js'
import { sentencesOf } from '../text/sentences.js'
import { isActionVerb } from '../text/action-verbs.js'

const GREETING =
  /^(?:hey|hi|hello|dear|good (?:morning|afternoon|evening)|ok(?:ay)?|so|now|then|also|and|first)\b[^,!.:]{0,30}[,!.:]\s*/iu
const SMALL_TALK =
  /\b(?:how (?:are|is|have|was|were|do|did|'s)|how's|what'?s (?:up|new|been)|long time|good to (?:see|hear)|nice to (?:see|meet|hear))\b/iu
const ASKS_TO_ACT =
  /\bplease\b|\b(?:can|could|would|will) (?:you|we)\b|\bi(?:'d| would) like (?:you )?to\b|\bi(?:'d| would) like (?:a|an|some|the)\b|\b(?:i|we) (?:need|want) (?:you|to|a|an|some|the|help)\b|\bhelp (?:me|us)\b|\b(?:let'?s|your task|you are to|your job)\b|\bbitte\b|\bs'il (?:te|vous) plaît\b|\bpor favor\b|пожалуйста|请|請|ください|주세요/iu
const QUESTION = /^(?:what|which|why|where|when|who|how|is|are|does|do|did|should|has|have)\b[^?]*\?/iu

const firstWord = (sentence: string): string => /^[\p{L}'’]+/u.exec(sentence)?.[0] ?? ''

function sentenceAsks(sentence: string): boolean {
  const text = sentence.replace(GREETING, '')
  if (SMALL_TALK.test(text)) return false
  // "Fixed it" is a report; an instruction begins with the base form.
  const verb = firstWord(text)
  return (
    (isActionVerb(verb) && !/(?:ed|ing)$/iu.test(verb)) ||
    ASKS_TO_ACT.test(text) ||
    (QUESTION.test(text) && !/\byou\b/iu.test(text)) ||
    hasIdentifier(text)
  )
}

export const isRequest = (text: string): boolean =>
  sentencesOf(text).some(({ text: sentence, code }) => code || sentenceAsks(sentence))
