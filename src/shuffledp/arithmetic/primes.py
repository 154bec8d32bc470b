"""Prime numbers: the orders of planes, and of the fields that hash functions calculate in."""

from flint import fmpz


def is_prime(number: int) -> bool:
    """Whether a number is prime, proved.

    >>> [number for number in range(20) if is_prime(number)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return bool(fmpz(number).is_prime())


def prime_from(number: int) -> int:
    """The least prime from this number on.

    >>> prime_from(1598)
    1601
    """
    while not is_prime(number):
        number += 1
    return number
