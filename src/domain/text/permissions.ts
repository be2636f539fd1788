/** Words that permit something, in the languages of the cue words. */
import { isDenied } from './cues.js'

const WORDS =
  /(?<![\p{L}])(?:may|can|could|allowed|feel free|okay|ok|fine|erlaubt|darf|darfst|dürfen|kannst|könnt|puede[ns]?|podéis|permitid[oa]s?|peux|peut|peuvent|pouvez)(?![\p{L}])/iu
/** Japanese, Chinese and Korean: the form itself is positive, also with the ending of a negation: 構いません. */
const FORMS = /て(?:も)?(?:よい|良い|いい|OK|大丈夫|構わ|構い|かまわ|かまい)|可以|允许|해도 ?(?:됩|된|돼|좋)/u

/** Whether a text has words of permission, permitted or not. */
export const isPermission = (text: string): boolean => WORDS.test(text) || FORMS.test(text)

/** Whether a text permits something, and does not deny the permission. */
export const isPermitted = (text: string): boolean => FORMS.test(text) || (WORDS.test(text) && !isDenied(text))

/** Whether a form of permission has the ending of a negation. */
export const isFormOfPermission = (text: string): boolean => FORMS.test(text)
