"""What an answer does with what was asked: the API's reasons, filters' marks, and rules about its words.

`finish_reasons` and `markers` tell refusals alone, and by names that others gave. `texts` guesses from words, says which
rule did, and says nothing where no rule matches.
"""
