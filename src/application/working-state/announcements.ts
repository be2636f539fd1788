/** Sentences by which an agent announces its next call, which the call shows, and polite words. */
import { hasCue } from '../../domain/text/cues.js'

const ANNOUNCES =
  /[:：]\**\s*$|^(?:now|let me|let's|first|next|i(?:['’]ll| will| need to| can see| see|['’]m going to)|good|great|done|you['’]re|perfect|ok(?:ay)?|jetzt|ich werde|lass mich)(?![\p{L}\p{N}])|(?:します|しましょう|しています)[。.:：]?$|^(?:好的|让我|我来|现在)/iu

export const announces = (text: string): boolean => ANNOUNCES.test(text) && !hasCue(text, 'reason')
