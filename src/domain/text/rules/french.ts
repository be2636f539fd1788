/** The ways in which French states a rule for the work of the other speaker. */
import { LATIN, anywhere, order, wordsOf, type Language } from './way.js'

export const FRENCH: Language = {
  letters: /[a-z]/u,
  alphabet: LATIN,
  frequent: wordsOf(`le les une des du et est ne pas jamais toujours il je tu vous nous que qui pour avec dans sur aux
    ce cette veille assure assurez utilise utilisez évite évitez doit doivent`),
  ways: [
    order(
      'prohibition: ne … pas, jamais',
      String.raw`(?:ne |n['’])(?!(?:t['’])?(?:inquiè|inquié|hésit|oubli))\p{L}+ (?:\S+ )?(?:pas|jamais|plus|aucun\p{L}*)`,
    ),
    order('obligation: toujours, jamais', String.raw`(?:toujours|jamais) \p{L}+(?:er|ir|re|ez)`),
    order(
      'obligation: veille à',
      'évite[zr]?|veille[zr]? à|assure-toi|assurez-vous|utilise[zr]? (?:toujours|uniquement|seulement)',
    ),
    anywhere(
      'obligation: il faut',
      String.raw`il (?:ne )?faut|(?:il est|c['’]est) (?:strictement )?interdit|(?:tu|vous|on) (?:ne )?(?:dois|devez|doit)(?! être| avoir)`,
    ),
    anywhere('obligation: doit', '(?:doit|doivent)(?! être (?:si|très|bien|super)| avoir)', {
      unless: /(?<![\p{L}\p{N}])(?:ça|il|elle|cela|on)\s+(?:ne\s+)?$/u,
    }),
    anywhere(
      'style: je préfère',
      'je préfère [^.!?]{1,120}? (?:plutôt que|à la place|au lieu)|je (?:ne )?veux (?:pas )?que (?:tu|vous)',
    ),
    anywhere(
      'default: désormais',
      String.raw`(?:à partir de maintenant|dorénavant|désormais),? (?!je |j['’]|nous )\p{L}+|ne (?:doit|doivent) pas dépasser|(?:est|sont) (?:plafonnée?s?|limitée?s?|interdite?s?|gelée?s?) (?:à|aux?|pour|jusqu)`,
    ),
  ],
}
