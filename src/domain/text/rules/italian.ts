/** The ways in which Italian states a rule for the work of the other speaker. */
import { LATIN, anywhere, order, wordsOf, type Language } from './way.js'

export const ITALIAN: Language = {
  letters: /[a-z]/u,
  alphabet: LATIN,
  frequent:
    wordsOf(`il lo gli le una uno della dei delle nel con che non è sono mai sempre bisogna assicurati evita evitare devi dovete devono
    preferisco ogni poi vietato`),
  ways: [
    order('prohibition: non', String.raw`non (?!preoccupar|dimenticar)\p{L}+(?:are|ere|ire)`),
    order('obligation: assicurati', 'assicurati|evita(?:re)?|usa (?:solo|sempre)'),
    anywhere('obligation: bisogna, devi', 'è vietato|bisogna|(?:devi|dovete|devono)(?! essere (?:molto|così))'),
    anywhere('style: preferisco', 'preferisco [^.!?]{1,120}? (?:invece di|piuttosto che)'),
    order('default: da ora in poi', String.raw`(?:da ora in poi|d['’]ora in poi|d['’]ora in avanti),? (?!io )\p{L}+`),
  ],
}
